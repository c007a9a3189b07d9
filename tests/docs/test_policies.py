"""Every policy of the registry appears wherever a user can meet one, with its parameters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import typer
from pydantic import TypeAdapter
from typer.testing import CliRunner

import maxsieve as ms
from maxsieve.cli.app import app, register_commands
from maxsieve.cli.bench import measure
from maxsieve.lab.experiments import tiers
from maxsieve.policies import ALIASES, POLICIES, PolicyKind, policy_named, to_policy
from maxsieve.service.app import policies_module
from maxsieve.service.schemas import AnyPolicy
from maxsieve.storage.segments import Store

ROOT = Path(__file__).parents[2]
KINDS = list(POLICIES.values())
register_commands()


@pytest.mark.parametrize("kind", KINDS, ids=POLICIES)
def test_python_takes_its_object_and_its_name(kind: PolicyKind) -> None:
    assert to_policy(kind.name) == kind.policy()
    assert getattr(ms, kind.policy.__name__) is kind.policy
    index = ms.Index.build(np.eye(4, dtype=np.float32), lengths=[2, 2])
    if kind.name == "calibrated":
        index.calibrate([np.eye(4)] * 99, k=1)
    assert index.search(np.eye(4), 1, policy=kind.name).ids == index.search(np.eye(4), 1, policy=kind.policy()).ids


def test_other_names_are_names_of_policies() -> None:
    assert set(ALIASES.values()) <= set(POLICIES)
    assert policy_named("exact") == ms.Certified()


def options_of(name: str) -> dict[str, Any]:
    command: Any = typer.main.get_command(app)
    return {option.name: option for option in command.commands[name].params}


def help_of(name: str) -> str:
    shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "300", "NO_COLOR": "1"})
    return " ".join(shown.output.split())


@pytest.mark.parametrize("name", ["search", "rerank"])
def test_the_command_line_offers_all(name: str) -> None:
    options = options_of(name)
    assert "|".join(POLICIES) in help_of(name)
    for kind in KINDS:
        for parameter in kind.parameters:
            assert kind.policy.__name__ in options[parameter.name].help


@pytest.mark.parametrize("kind", KINDS, ids=POLICIES)
def test_the_service_takes_it(kind: PolicyKind) -> None:
    schema: Any = TypeAdapter(AnyPolicy)
    assert schema.validate_python(kind.name) == kind.name
    given = {"name": kind.name, **{parameter.name: parameter.default for parameter in kind.parameters}}
    assert schema.validate_python(given).chosen() == kind.policy()


def test_the_page_has_all() -> None:
    module = policies_module().decode()
    shown = json.loads(module.removeprefix("export const POLICIES = ").removesuffix(";\n"))
    assert [*shown] == [*POLICIES]
    for kind in KINDS:
        assert [entry["name"] for entry in shown[kind.name]["parameters"]] == kind.parameter_names


def test_bench_times_all() -> None:
    index = ms.Index.build(np.random.default_rng(0).standard_normal((60, 4)), lengths=[3] * 20)
    queries = list(np.random.default_rng(1).standard_normal((20, 2, 4)))
    index.calibrate(queries * 5, k=2)
    timings = measure(index, queries[:2], {kind.name: kind.policy() for kind in KINDS}, 2, 1, 1)
    assert [timing.policy for timing in timings] == [*POLICIES]


def test_the_lab_compares_all() -> None:
    source = Path(tiers.__file__).read_text()
    assert all(kind.policy.__name__ in source for kind in KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=POLICIES)
def test_documents_explain_it(kind: PolicyKind) -> None:
    for document in ("docs/reference/policies.md", "docs/cli.md", "docs/service.md"):
        text = (ROOT / document).read_text()
        assert kind.policy.__name__ in text or kind.name in text, document


def test_the_command_line_offers_all_stores() -> None:
    shown = help_of("index")
    assert all(store in shown for store in get_args(Store))
