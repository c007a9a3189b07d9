"""Libraries that tell their makers how they are used: not unless the user wants it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from maxsieve.common.optional import TELEMETRY

ENCODING = """
import sys
from maxsieve.text import OnnxEncoder
OnnxEncoder(sys.argv[1]).encode_documents(["a red fox"])
"""
IMPORTING = """
import os, sys
from maxsieve.common.optional import optional
assert optional(sys.argv[1], "extra").seen == sys.argv[3], "the variable is set before the library is imported"
assert os.environ[sys.argv[2]] == sys.argv[3]
"""


def run(code: str, *arguments: str, **variables: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in dict(TELEMETRY.values())}
    subprocess.run([sys.executable, "-c", code, *arguments], env={**environment, **variables}, check=True)


def test_onnxruntime_writes_nothing_into_the_users_cache(tmp_path: Path, tiny_model: Path) -> None:
    """What it would send is first written to a file there, when it is imported."""
    run(ENCODING, str(tiny_model), HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path), LOCALAPPDATA=str(tmp_path))
    assert sorted(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("library", TELEMETRY)
@pytest.mark.parametrize("chosen", [None, "by the user"])
def test_variables_are_set_before_the_library_is_imported(tmp_path: Path, library: str, chosen: str | None) -> None:
    variable, value = TELEMETRY[library]
    (tmp_path / f"{library}.py").write_text(f"import os\nseen = os.environ.get({variable!r})\n")
    users = {} if chosen is None else {variable: chosen}
    run(IMPORTING, library, variable, chosen or value, PYTHONPATH=str(tmp_path), **users)


@pytest.mark.full
def test_ray_and_the_hub_understand_their_variables() -> None:
    run(
        "from maxsieve.common.optional import optional\n"
        "assert optional('huggingface_hub.constants', 'text').HF_HUB_DISABLE_TELEMETRY\n"
        "optional('ray', 'ray')\n"
        "assert not optional('ray._common.usage.usage_lib', 'ray').usage_stats_enabled()\n"
    )
