"""Documents as people have them: JSON Lines, CSV, TSV, Parquet, folders of text files, standard input."""

from maxsieve.text.inputs.intake import Intake
from maxsieve.text.inputs.record import BadRecord, Fields, Record
from maxsieve.text.inputs.source import STDIN, Format, Source

__all__ = ["STDIN", "BadRecord", "Fields", "Format", "Intake", "Record", "Source"]
