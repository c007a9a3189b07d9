"""Schemas of the requests and answers of the search routes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, WrapValidator, create_model, model_validator

from maxsieve.options import SearchOptions
from maxsieve.policies import POLICIES, Policy, PolicyKind, policy_named
from maxsieve.service.settings import (
    CHARACTERS,
    DEPTH,
    DIMENSIONS,
    DOCUMENTS,
    HITS,
    IDS,
    QUERY_CHARACTERS,
    QUERY_TOKENS,
)

Id = Annotated[int, Field(strict=True, ge=-(2**63), le=2**63 - 1)] | Annotated[str, Field(max_length=10_000)]
Ids = Annotated[list[Id], Field(max_length=IDS, fail_fast=True)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Row = Annotated[list[Number], Field(min_length=1, max_length=DIMENSIONS, fail_fast=True)]
# a tuple: `maxsieve.service.bodies` has read and checked them
Vectors = Annotated[
    list[Row],
    Field(min_length=1, max_length=QUERY_TOKENS, fail_fast=True),
    WrapValidator(lambda given, check: given if isinstance(given, tuple) else check(given)),
]


class Shape(BaseModel):
    """A strict schema: no unknown fields, and no text where a number is expected."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, given: Any) -> Any:
        """Refuses the first unknown field: pydantic would list all of them."""
        unknown = next((name for name in given if name not in cls.model_fields), None) if type(given) is dict else None
        if unknown is not None:
            raise ValueError(f"there is no field {unknown[:100]!r}")
        return given


LARGEST_NUMBER = 2**31
"""Limit on a parameter that is a whole number without a limit of its own."""


class PolicySchema(Shape):
    """A policy with its parameters."""

    def chosen(self) -> Policy:
        """The policy object of the library."""
        values = self.model_dump()
        return policy_named(values.pop("name"), values)


def _schema_of(kind: PolicyKind) -> Any:
    """The schema of a policy: its name, and a field for each parameter with its limits."""
    fields: dict[str, Any] = {"name": (Literal[kind.name], ...)}
    for parameter in kind.parameters:
        if parameter.type is str:
            fields[parameter.name] = (Literal[parameter.choices], parameter.default)
        elif parameter.type is int:
            most = LARGEST_NUMBER if parameter.most is None else int(parameter.most)
            fields[parameter.name] = (int, Field(parameter.default, ge=int(parameter.least or 0), le=most))
        else:
            upper: dict[str, Any] = {"lt" if parameter.open else "le": 1 if parameter.most is None else parameter.most}
            number: Any = float if parameter.default is not None else float | None
            fields[parameter.name] = (number, Field(parameter.default, gt=parameter.least or 0, **upper))
    name = f"{kind.policy.__name__}Policy"
    return create_model(name, __base__=PolicySchema, __doc__=f"{kind.policy.__name__}: {kind.summary}.", **fields)


if TYPE_CHECKING:
    AnyPolicy = str | PolicySchema
else:
    _FORMS = (
        Annotated[Literal[tuple(POLICIES)], Tag("name")],
        *(Annotated[_schema_of(kind), Tag(kind.name)] for kind in POLICIES.values()),
    )
    AnyPolicy = Annotated[
        Union[_FORMS],  # noqa: UP007 - of as many as there are
        Discriminator(lambda given: given.get("name") if isinstance(given, dict) else "name"),
    ]


_OPTIONS = ("k", "by", "per_document", "candidates", "exclude", "where", "first_stage", "depth", "hybrid", "trace")
"""The fields of a request that are options of a search by the same names."""


class SearchBody(Shape):
    """A query, as text or as token vectors, and the options of the search."""

    query: str | None = Field(None, max_length=QUERY_CHARACTERS, description="The text to search for.")
    vectors: Vectors | None = Field(None, description="Token vectors to search for, instead of a text.")
    k: int = Field(10, ge=1, le=HITS, description="How many documents or passages to find.")
    offset: int = Field(0, ge=0, lt=HITS, description="How many of the best hits to leave out: k are found after them.")
    by: Literal["document", "passage"] = Field(
        "document", description="Find documents, each by its best passage, or passages of any documents."
    )
    per_document: int = Field(1, ge=1, le=HITS, description="How many of its best passages each document lists.")
    policy: AnyPolicy | None = Field(
        None,
        description="The search policy: its name, or an object with its name and parameters. By default, the search is "
        "exact; in a large collection that was calibrated, it is calibrated.",
    )
    candidates: Ids | None = Field(None, description="Search among these ids only.")
    exclude: Ids | None = Field(None, description="Ids that must not be hits.")
    where: dict[str, Any] | None = Field(None, description="A filter on metadata.")
    first_stage: Literal["bm25"] | None = Field(None, description="Rank only the candidates of this first stage.")
    depth: int = Field(
        100, ge=1, le=DEPTH, description="Number of candidates of the first stage, or of documents to be fused."
    )
    hybrid: Literal["rrf"] | Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None, description="Combine with BM25: by reciprocal rank fusion, or with BM25's weight."
    )
    matches: bool = Field(True, description="Whether hits list their words that match words of the query.")
    maps: bool = Field(False, description="Whether pages of patches have a map for each word of the query.")
    trace: bool = Field(False, description="Whether to return the steps of the search.")

    @model_validator(mode="after")
    def _one_query(self) -> SearchBody:
        if (self.query is None) == (self.vectors is None):
            raise ValueError("give either a query or vectors")
        if self.vectors is not None and (self.first_stage is not None or self.hybrid is not None):
            raise ValueError("BM25 needs a text query, not vectors")
        found = self.offset + self.k
        if found > HITS:
            raise ValueError(f"offset and k may be {HITS:,} in total, not {found:,}")
        if self.per_document > 1 and self.by == "passage":
            raise ValueError("per_document: by passage, hits are passages, not documents")
        if found * self.per_document > HITS:
            raise ValueError(f"k times per_document may be {HITS:,} at most, not {found * self.per_document:,}")
        return self

    def options(self, *, threads: int | None, timeout: float) -> SearchOptions:
        """The options of the search. It finds the hits that are left out, too: the guarantee is about all of them."""
        given: dict[str, Any] = {name: getattr(self, name) for name in _OPTIONS} | {"k": self.offset + self.k}
        return SearchOptions(**given, policy=self.chosen_policy, threads=threads, timeout=timeout)

    @property
    def listed(self) -> int:
        """How many passages the answer may list."""
        return self.k * self.per_document

    @property
    def group(self) -> Hashable:
        """Equal for requests that can be searched together: they have the same options. A trace is for one alone."""
        options = (getattr(self, name) for name in _OPTIONS)
        return object() if self.trace else repr([self.chosen_policy, self.offset, *options])

    @property
    def chosen_policy(self) -> Policy | None:
        """The policy object of the library; None if none was given."""
        if self.policy is None:
            return None
        return policy_named(self.policy) if isinstance(self.policy, str) else self.policy.chosen()


class QueryWord(BaseModel):
    """A word of the query, and its offsets."""

    word: str
    start: int
    end: int


class Matched(BaseModel):
    """A word of the query and the word of the hit that is most similar to it, which is ``text[start:end]``."""

    query_word: str
    query_start: int
    query_end: int
    word: str
    start: int
    end: int
    similarity: float
    box: list[float] | None = Field(
        None,
        description="Only for a page: where the match is. Left, top, right and bottom, as fractions of the picture's "
        "width and height: the box of a word, or a patch.",
    )


class GridOfPatches(BaseModel):
    """Patches of a page: rows and columns, and the part of the page that they cover."""

    rows: int
    columns: int
    box: list[float]


class PatchMap(BaseModel):
    """How similar each patch of a page is to a word of the query."""

    query_start: int
    tokens: int = Field(description="How many tokens the word has: the weight of its map in a map of all words.")
    values: str = Field(description="A byte for each patch, grid by grid and row by row, in base64; 255 is the best.")


class PagePicture(BaseModel):
    """The picture of a hit that is a page."""

    path: str = Field(description="Where GET finds the picture.")
    width: int
    height: int
    kind: Literal["words", "patches"] = Field(description="What the boxes of its matches are.")
    grids: list[GridOfPatches] | None = Field(None, description="With maps: the grids of its patches.")
    maps: list[PatchMap] | None = None


class MarkedWord(BaseModel):
    """A word that matched, ``text[start:end]``, and how strongly: 1, 2 or 3."""

    start: int
    end: int
    grade: int


class Snippet(BaseModel):
    """The part of the text where the matches are densest, ``text[start:end]``."""

    start: int
    end: int


class PassagePlace(BaseModel):
    """Where a passage is in its document: its first and last page, or its first and last line in a file."""

    number: int
    of: int
    start: int
    heading: str
    pages: tuple[int, int] | None
    lines: tuple[int, int] | None


class PassageOfHit(BaseModel):
    """One of the best passages of a document, with heading, page and line of its best-matching words."""

    score: float
    text: str
    heading: str | None = None
    page: int | None = None
    line: int | None = None
    passage: PassagePlace | None = None
    matches: list[Matched] | None = None
    picture: PagePicture | None = Field(None, description="Only for a page: its picture.")
    marks: list[MarkedWord] | None = None
    snippet: Snippet | None = None


class SearchHit(BaseModel):
    """A document, or a passage of one, that was found."""

    rank: int
    id: int | str
    score: float
    late_score: float | None = Field(None, description="Only in a hybrid search: the score by late interaction.")
    bm25_score: float | None = Field(None, description="Only in a hybrid search: the score by BM25.")
    text: str
    metadata: Any = None
    heading: str | None = Field(None, description="The headings above its best-matching words.")
    page: int | None = Field(None, description="The page of its best-matching words.")
    line: int | None = Field(None, description="The line of its best-matching words in its file.")
    passage: PassagePlace | None = None
    matches: list[Matched] | None = None
    marks: list[MarkedWord] | None = Field(None, description="With matches: the words to mark, in order.")
    snippet: Snippet | None = Field(None, description="With matches: the part of the text to show.")
    passages: list[PassageOfHit] | None = Field(None, description="Only with per_document: its best, best first.")


class RoundOfSieve(BaseModel):
    """One round: active documents, query tokens revealed after it, and the threshold, if there was one."""

    active: int
    revealed: int
    threshold: float | None


class ReportOfSearch(BaseModel):
    """How the answer was found and what it guarantees."""

    guarantee: Literal["exact", "pac", "calibrated", "calibrated on sentences", "none"]
    sentence: str = Field(description="The guarantee in words, and among which documents it holds.")
    scope: Literal["all", "matching", "candidates"]
    documents: int
    passages: int | None = Field(None, description="Only by passage: how many passages were searched.")
    where: Any = Field(None, description="The filter, if there was one.")
    first_stage: str | None = None
    hybrid: str | float | None = None
    depth: int | None = None
    coverage: float
    survivors: int
    rescored: int
    calibrated_on: str | None = None
    calibration_queries: int | None = None
    touched: dict[str, int] | None = Field(None, description="What a calibrated search has read.")
    added: int | None = None
    deleted: int | None = None
    rounds: list[RoundOfSieve]
    isa: str
    encode_seconds: float = Field(description="Includes the time that the query waited in the queue.")
    search_seconds: float
    together: int = Field(description="How many requests were answered in the same group.")


class QueryOfSearch(BaseModel):
    """What was searched for."""

    text: str | None
    tokens: int
    words: list[QueryWord]


class SearchAnswer(BaseModel):
    """Hits, best first, and the report."""

    hits: list[SearchHit]
    report: ReportOfSearch
    query: QueryOfSearch
    timing_ms: dict[str, float] = Field(description="Encoding, waiting, and each stage of the search.")
    trace: dict[str, Any] | None = None


class NewDocument(Shape):
    """A document to be added."""

    id: Id | None = Field(None, description="Without one, it is derived from the text.")
    text: str = Field(max_length=CHARACTERS)
    metadata: Any = None


class AddRequest(Shape):
    """Documents to be added."""

    documents: Annotated[list[NewDocument], Field(min_length=1, max_length=DOCUMENTS, fail_fast=True)]
    replace: bool = Field(
        False, description="Whether a stored document with the same id is replaced; otherwise it is an error."
    )


class AddAnswer(BaseModel):
    """How many documents were added, skipped because they are stored already, and replaced."""

    added: int
    skipped: int
    replaced: int


class DeleteRequest(Shape):
    """Documents to delete. If one of the ids is unknown, nothing is deleted."""

    ids: Ids = Field(min_length=1)


class DeleteAnswer(BaseModel):
    """How many documents were deleted."""

    deleted: int


class DocumentAnswer(BaseModel):
    """A document as it was added."""

    id: int | str
    text: str
    metadata: Any = None


class CalibrationFacts(BaseModel):
    """What a collection is calibrated for: how many queries and hits, and whether its promise still holds."""

    queries: int
    k: int
    holds: bool


class CollectionFacts(BaseModel):
    """Facts about a collection."""

    name: str
    documents: int
    tokens: int
    dim: int
    store: str
    encoder: str
    calibrated: bool
    calibration: CalibrationFacts | None
    shards: int = Field(description="0 for a collection in one folder. One in shards has no BM25 and no trace.")
    writable: bool


class CollectionList(BaseModel):
    """All collections of the service."""

    collections: list[CollectionFacts]
