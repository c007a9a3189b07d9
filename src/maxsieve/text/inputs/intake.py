"""The documents of all sources in one stream: bad ones refused or counted, ids checked against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maxsieve.text.inputs.record import BadRecord, Fields, Place, Record
from maxsieve.text.inputs.source import Source


class Intake:
    """Iterates over the good records. The first bad one is raised, or with ``skip_bad`` counted and remembered.

    >>> import io, sys
    >>> intake = Intake([], Fields(), skip_bad=True)
    >>> list(intake), intake.bad
    ([], 0)
    """

    def __init__(self, sources: Sequence[Source], fields: Fields, *, skip_bad: bool) -> None:
        self.sources, self.fields, self.skip_bad = sources, fields, skip_bad
        self.bad = self.repeated = 0
        self.first_bad: BadRecord | None = None
        self.has_ids: bool | None = None
        self._seen: dict[str, tuple[int, Place]] = {}

    def count(self) -> int | None:
        """About how many documents there are, if that can be told without reading them."""
        counts = [source.count() for source in self.sources]
        return None if None in counts else sum(count for count in counts if count is not None)

    def __iter__(self) -> Iterator[Record]:
        for source in self.sources:
            for found in source.records(self.fields):
                checked = found if isinstance(found, BadRecord) else self._check(found)
                if isinstance(checked, Record):
                    yield checked
                elif checked is None:
                    self.repeated += 1
                elif self.skip_bad:
                    self.bad += 1
                    self.first_bad = self.first_bad or checked
                else:
                    raise checked

    def _check(self, record: Record) -> Record | BadRecord | None:
        """All or none have an id of their own; a document that comes again, unchanged, is None."""
        if self.has_ids is None:
            self.has_ids = record.id is not None
        if self.has_ids != (record.id is not None):
            missing = (
                "has no id, but those before it have" if self.has_ids else "has an id, but those before it have none"
            )
            return BadRecord(record.place, missing)
        if record.id is not None:
            digest = hash((record.text, repr(record.metadata)))
            first, place = self._seen.setdefault(record.id, (digest, record.place))
            if first != digest:
                return BadRecord(record.place, f"the id {record.id!r} was given to another document before ({place})")
            if place != record.place:
                return None
        return record
