"""Reads documents: JSON, CSV, Parquet, text, PDF, HTML, Word, folders of these, standard input."""

from maxsieve.text.inputs.document import BadInput, Fields, InputDocument
from maxsieve.text.inputs.reading import STDIN, DocumentReader, Format, Input

__all__ = ["STDIN", "BadInput", "DocumentReader", "Fields", "Format", "Input", "InputDocument"]
