"""Many results as one page, in HTML or in Markdown."""

from maxsieve.lab.page.markup import html_page
from maxsieve.lab.page.plain import markdown_page

__all__ = ["html_page", "markdown_page"]
