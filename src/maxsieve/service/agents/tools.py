"""The tools that agents call: their names, arguments, descriptions and answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NamedTuple

from pydantic import Field, ValidationError

from maxsieve.service.agents.budget import count_tokens, cut_lines, limited_answer, limited_lines, limited_parts
from maxsieve.service.agents.library import Library
from maxsieve.service.dialects import Text
from maxsieve.service.document_routes import add_documents, delete_documents
from maxsieve.service.failures import validation_sentence
from maxsieve.service.rerank_routes import rank
from maxsieve.service.schemas import AddRequest, DeleteRequest, Id, Shape
from maxsieve.service.settings import CHARACTERS, DOCUMENTS, QUERY_CHARACTERS

MOST_HITS = 100
DEFAULT_TOKENS, LEAST_TOKENS, MOST_TOKENS = 2000, 100, 50_000

Name = Annotated[str | None, Field(max_length=100, description="Which one; needed only if there are several.")]
Query = Annotated[str, Field(min_length=1, max_length=QUERY_CHARACTERS)]
Tokens = Annotated[
    int,
    Field(ge=LEAST_TOKENS, le=MOST_TOKENS, description="The most tokens of the answer, which says what is left out."),
]


class SearchArguments(Shape):
    """Arguments of `search`."""

    query: Query = Field(description="A question or a description of what is wanted, in words.")
    k: int = Field(10, ge=1, le=MOST_HITS, description="How many passages to find.")
    where: dict[str, Any] | None = Field(
        None, description='A filter on metadata, such as {"year": {"gte": 2020}}; not for folders.'
    )
    collection: Name = None
    max_tokens: Tokens = DEFAULT_TOKENS


class ReadArguments(Shape):
    """Arguments of `read`."""

    id: Id = Field(description="The id of a document, or the path of a file, as search names it.")
    first_line: int = Field(1, ge=1, le=2**31)
    last_line: int | None = Field(None, ge=1, le=2**31, description="The last line by default.")
    collection: Name = None
    max_tokens: Tokens = DEFAULT_TOKENS


class RerankArguments(Shape):
    """Arguments of `rerank`."""

    query: Query = Field(description="What the texts are ranked by.")
    texts: Annotated[list[Text], Field(min_length=1, max_length=DOCUMENTS, fail_fast=True)]
    k: int = Field(10, ge=1, le=DOCUMENTS, description="How many of the best to return.")
    max_tokens: Tokens = DEFAULT_TOKENS


class CollectionsArguments(Shape):
    """Arguments of `collections`."""

    max_tokens: Tokens = DEFAULT_TOKENS


class AddArguments(AddRequest):
    """Arguments of `add`."""

    collection: Name = None


class DeleteArguments(DeleteRequest):
    """Arguments of `delete`."""

    collection: Name = None


class AgentTool(NamedTuple):
    """A tool: what it takes, what it does, and whether it changes a collection."""

    arguments: type[Shape]
    run: Callable[[Library, Any], Awaitable[str]]
    title: str
    description: str
    writes: bool = False

    async def call(self, library: Library, given: dict[str, Any]) -> str:
        """The answer; `ValueError` names the first argument that is not valid."""
        try:
            arguments = self.arguments.model_validate(given)
        except ValidationError as wrong:
            raise ValueError(validation_sentence(wrong.errors())) from None
        return await self.run(library, arguments)


async def _search(library: Library, asked: SearchArguments) -> str:
    name = library.named(asked.collection)
    return limited_answer(await library.search(name, asked.query, asked.k, asked.where), asked.max_tokens)


async def _read(library: Library, asked: ReadArguments) -> str:
    text = await library.text(library.named(asked.collection), asked.id)
    return limited_lines(str(asked.id), text, asked.first_line, asked.last_line, asked.max_tokens)


async def _rerank(library: Library, asked: RerankArguments) -> str:
    if sum(map(len, asked.texts)) > CHARACTERS:
        raise ValueError(f"texts: they have more than {CHARACTERS:,} characters in total")
    k = min(asked.k, len(asked.texts))
    ranked = (await rank(asked.query, asked.texts, k, library.service)).documents
    share = max(10, asked.max_tokens // (2 * k))
    parts = []
    for place, (number, relevance, _) in enumerate(ranked, start=1):
        start = cut_lines(asked.texts[number], share)
        more = f" [{count_tokens(asked.texts[number]):,} tokens in all]" if start != asked.texts[number] else ""
        parts.append(f"{place}. texts[{number}] (relevance {relevance:.3f}): {start}{more}")
    ending = f"Guarantee: exact among the {len(asked.texts):,} texts."
    return limited_parts(parts, ending, asked.max_tokens, "of the ranked texts")


async def _collections(library: Library, asked: CollectionsArguments) -> str:
    lines = [f"{name} ({kind}): {count:,} documents; {state}" for name, kind, count, state in await library.facts()]
    return limited_parts(lines or ["There is no collection."], "", asked.max_tokens, "collections")


async def _add(library: Library, asked: AddArguments) -> str:
    done = await add_documents(library.service, library.named(asked.collection), asked)
    return ", ".join(f"{count:,} {what}" for what, count in done.items())


async def _delete(library: Library, asked: DeleteArguments) -> str:
    done = await delete_documents(library.service, library.named(asked.collection), asked)
    return f"{done['deleted']:,} deleted"


TOOLS = {
    "search": AgentTool(
        SearchArguments,
        _search,
        "Search by meaning",
        "Finds the passages that answer a question: functions and classes of source code, sections of documents. Ask "
        "in plain words; names of functions help, too. Each hit has an id, its first and last line, its heading, a "
        "score and the text. The answer says what it guarantees.",
    ),
    "read": AgentTool(
        ReadArguments,
        _read,
        "Read lines of a document",
        "Shows a document, or some lines of it, by the id and the lines that search names.",
    ),
    "rerank": AgentTool(
        RerankArguments,
        _rerank,
        "Rank texts",
        "Orders texts that you have by how well they answer a query. They need not be in a collection.",
    ),
    "collections": AgentTool(
        CollectionsArguments,
        _collections,
        "List what can be searched",
        "Lists the collections and folders that search and read know, with their numbers of documents.",
    ),
    "add": AgentTool(
        AddArguments,
        _add,
        "Add documents",
        "Adds texts to a collection, or replaces them. A document that is stored with the same text is skipped.",
        writes=True,
    ),
    "delete": AgentTool(
        DeleteArguments,
        _delete,
        "Delete documents",
        "Deletes documents of a collection. If one of the ids is unknown, nothing is deleted.",
        writes=True,
    ),
}


def tools_of(library: Library) -> dict[str, AgentTool]:
    """The tools that a client may call: those that write only if the service is writable."""
    return {name: tool for name, tool in TOOLS.items() if library.service.settings.writable or not tool.writes}
