"""The rerankers' own clients, unchanged, talk to a running service. The snippets of docs/service.md run, too."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "service.md"
ADDRESS = "http://127.0.0.1:8800"
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)

QUERY = "something hot to drink"
TEXTS = ["A loaf of bread.", "A cup of tea, freshly brewed.", "", "The bicycle has two wheels.", "Black coffee."]
BEST = [1, 4]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where a service with an API key runs."""
    command = [sys.executable, "-m", "maxsieve.cli", "serve", "--port", "0", "--api-key", "key"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            assert "serving at http://127.0.0.1:" in said, said
            yield said.partition("serving at ")[2].partition("/;")[0]
        finally:
            process.terminate()
            assert process.wait(60) == 0


def test_cohere_v2(address: str) -> None:
    import cohere

    answer = cohere.ClientV2("key", base_url=address).rerank(model="rerank-v3.5", query=QUERY, documents=TEXTS, top_n=2)
    assert sorted(one.index for one in answer.results) == BEST
    assert all(0 <= one.relevance_score <= 1 for one in answer.results)
    assert answer.id
    assert answer.meta is not None
    assert answer.meta.tokens is not None
    assert answer.meta.tokens.input_tokens
    assert answer.results[0].raw_score > answer.results[1].raw_score


def test_cohere_v1(address: str) -> None:
    import cohere

    client = cohere.Client("key", base_url=address)
    answer = client.rerank(query=QUERY, documents=TEXTS, model="m", return_documents=True)
    assert sorted(one.index for one in answer.results[:2]) == BEST
    assert [one.document.text for one in answer.results if one.document] == [TEXTS[one.index] for one in answer.results]
    objects = [{"text": "bread", "title": text} for text in TEXTS if text]
    answer = client.rerank(query=QUERY, documents=objects, rank_fields=["title"], top_n=1)
    assert answer.results[0].index in (1, 3)


def test_cohere_says_what_is_wrong(address: str) -> None:
    import cohere

    with pytest.raises(cohere.errors.UnauthorizedError, match="API key"):
        cohere.ClientV2("other", base_url=address).rerank(model="m", query=QUERY, documents=TEXTS)
    with pytest.raises(cohere.errors.UnprocessableEntityError, match="documents"):
        cohere.ClientV2("key", base_url=address).rerank(model="m", query=QUERY, documents=[])


def test_cohere_at_the_same_time(address: str) -> None:
    import cohere

    async def ask() -> list[list[int]]:
        client = cohere.AsyncClientV2("key", base_url=address)
        asked = [client.rerank(model="m", query=text, documents=TEXTS) for text in TEXTS if text]
        return [[one.index for one in answer.results] for answer in await asyncio.gather(*asked)]

    assert [indices[0] for indices in asyncio.run(ask())] == [0, 1, 3, 4]  # each text is the best answer to itself


def test_voyage(address: str) -> None:
    import voyageai

    client = voyageai.Client(api_key="key", base_url=f"{address}/v1")
    answer = client.rerank(QUERY, TEXTS, model="rerank-2")
    assert sorted(one.index for one in answer.results[:2]) == BEST
    assert [one.document for one in answer.results] == [TEXTS[one.index] for one in answer.results]
    assert answer.total_tokens > 10
    assert len(client.rerank(QUERY, TEXTS, model="rerank-2", top_k=2).results) == 2


def test_langchain_cohere(address: str) -> None:
    from langchain_cohere import CohereRerank
    from langchain_core.documents import Document

    reranker = CohereRerank(cohere_api_key="key", base_url=address, model="m", top_n=2)
    found = reranker.compress_documents([Document(text, metadata={"place": i}) for i, text in enumerate(TEXTS)], QUERY)
    assert sorted(one.metadata["place"] for one in found) == BEST
    assert all(0 <= one.metadata["relevance_score"] <= 1 for one in found)


def _nodes() -> tuple[list[Any], Any]:
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    return [NodeWithScore(node=TextNode(text=text, id_=str(i))) for i, text in enumerate(TEXTS)], QueryBundle(QUERY)


def test_llama_index_cohere(address: str) -> None:
    from llama_index.postprocessor.cohere_rerank import CohereRerank

    found = CohereRerank(api_key="key", base_url=address, top_n=2).postprocess_nodes(*_nodes())
    assert sorted(int(one.node.node_id) for one in found) == BEST


def test_llama_index_tei(address: str) -> None:
    from llama_index.postprocessor.tei_rerank import TextEmbeddingInference

    reranker = TextEmbeddingInference(base_url=address, top_n=2, auth_token="Bearer key")
    found = reranker.postprocess_nodes(*_nodes())
    assert sorted(int(one.node.node_id) for one in found) == BEST


def test_haystack_cohere(address: str) -> None:
    from haystack import Document
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.cohere import CohereRanker

    ranker = CohereRanker(api_key=Secret.from_token("key"), api_base_url=address, top_k=2)
    found = ranker.run(QUERY, [Document(id=str(i), content=text) for i, text in enumerate(TEXTS)])["documents"]
    assert sorted(int(one.id) for one in found) == BEST


def test_haystack_jina(address: str) -> None:
    from haystack import Document
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.jina import JinaRanker

    ranker = JinaRanker(api_key=Secret.from_token("key"), base_url=f"{address}/v1/rerank", top_k=2)
    answer = ranker.run(QUERY, [Document(id=str(i), content=text) for i, text in enumerate(TEXTS)])
    assert sorted(int(one.id) for one in answer["documents"]) == BEST
    assert answer["meta"]["usage"]["total_tokens"] > 10


@pytest.mark.parametrize("provider", ["cohere", "jina", "voyage", "text-embeddings-inference"])
def test_rerankers(address: str, provider: str) -> None:
    from rerankers.models.api_rankers import APIRanker

    ranker = APIRanker("m", "key", provider, url=f"{address}/v1/rerank")
    found = ranker.rank(QUERY, TEXTS)
    assert sorted(one.document.doc_id for one in found.top_k(2)) == BEST
    assert len(found.results) == len(TEXTS)


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_snippets_of_the_page(address: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAXSIEVE_API_KEY", "key")
    code = SNIPPETS[number].replace(ADDRESS, address)
    assert code != SNIPPETS[number], "it asks no service"
    exec(compile(code, str(PAGE), "exec"), {"texts": [text for text in TEXTS if text], "query": QUERY})


def test_there_are_snippets() -> None:
    assert len(SNIPPETS) >= 8
