"""Documents as people have them: JSON Lines, CSV, TSV, Parquet, folders of text files, standard input."""

from maxsieve.text.inputs.document import BadInput, Fields, InputDocument
from maxsieve.text.inputs.reading import STDIN, DocumentReader, Format, Input

__all__ = ["STDIN", "BadInput", "DocumentReader", "Fields", "Format", "Input", "InputDocument"]
