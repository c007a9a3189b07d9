"""Charts as SVG that can stand inside an HTML page."""

from __future__ import annotations

import io
import re
from html import escape

from maxsieve.lab.charts import draw
from maxsieve.lab.results import Chart


def inline_svg(chart: Chart, prefix: str) -> str:
    """The chart without what belongs to a file of its own, its ids made unique in the page by ``prefix``."""
    drawn = io.BytesIO()
    draw(chart, drawn, "svg")
    whole = re.sub(r"<!--.*?-->|<style.*?</style>", "", drawn.getvalue().decode("utf-8"), flags=re.DOTALL)
    body = whole[whole.index("<svg") :].strip()
    body = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{prefix}-", body)
    size = re.compile(r'<svg[^>]*?(viewBox="[^"]*")[^>]*>')
    opening = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" \\1 role="img" aria-label="{escape(chart.title)}">'
    return size.sub(lambda found: opening.replace("\\1", found[1]), body, count=1)
