"""Requests made from the schema of the service, valid ones and others: each gets an answer, and none is a failure.

1,000 of them in all, 10,000 in the long form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from long_form import scaled
from maxsieve.text import OnnxEncoder
from service.conftest import make_docs
from service.support import Served, serving

pytestmark = pytest.mark.full
REQUESTS = scaled(1000)
EXPECTED = {200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 423, 429}
FEW = 10
"""Requests of a kind that has no body."""

TOO_LATE = 504
"""A client may ask for less time than an answer takes."""

WHERE: list[Any] = [
    {"year": {"gte": 2001}},
    {"$or": [{"year": 1999}, {"lang": "en"}]},
    {"year": {"gte": None}},
    {"year": {"in": "x"}},
    {"a..b": 1},
    {"not": [1]},
]
"""Values that no schema describes: filters, some of them wrong."""


@pytest.fixture
def served(tmp_path: Path, encoder: OnnxEncoder) -> Iterator[Served]:
    """A service that may be changed."""
    path = make_docs(tmp_path / "docs", encoder)
    with serving(encoder, {"docs": path}, writable=True) as served:
        yield served


def test_no_request_makes_it_fail(served: Served) -> None:
    schema = schemathesis.openapi.from_dict(served.client.get("/openapi.json").json())
    schema.config.update(base_url=f"http://127.0.0.1:{served.port}")
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) >= 8
    bodies = [one for one in operations if len(one.body)]
    found: Counter[int] = Counter()
    for operation in operations:
        count = REQUESTS // len(bodies) // 2 if operation in bodies else FEW
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            with suppress(Unsatisfiable):  # a request without parameters can't be changed
                fuzz(operation.as_strategy(generation_mode=mode), count, found)
    assert found.total() >= 0.9 * REQUESTS
    assert found[200] > 0
    assert found[422] > 0
    assert served.client.get("/healthz").status_code == 200
    assert served.search(query="fox").json()["hits"]


def fuzz(cases: Any, count: int, found: Counter[int]) -> None:
    """Sends so many requests for one operation."""

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases, st.sampled_from(["docs", "docs", "docs", None]), st.none() | st.sampled_from(WHERE))
    def ask(case: Any, name: str | None, where: Any) -> None:
        if name is not None and "name" in (case.path_parameters or {}):
            case.path_parameters["name"] = name  # otherwise hardly any would find a collection
        if where is not None and case.path.endswith("/search") and isinstance(case.body, dict):
            case.body["where"] = where
        headers = {key.lower() for key in case.headers or {}}
        try:
            answer = case.call()
        except UnicodeEncodeError:
            return  # what no client can send
        found[answer.status_code] += 1
        assert answer.status_code in EXPECTED or (answer.status_code == TOO_LATE and "x-timeout-seconds" in headers), (
            case.as_curl_command(),
            answer.text,
        )
        if answer.status_code >= httpx.codes.BAD_REQUEST:
            assert set(answer.json()) == {"detail"}
            assert "Traceback" not in answer.text

    ask()
