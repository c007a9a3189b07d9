"""The list of experiments is known without importing them, and agrees with the files."""

from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

from maxsieve.lab import experiments

PARAMETERS = ["dataset", "options"]


@pytest.mark.parametrize("name", experiments.SUMMARIES)
def test_every_listed_experiment_is_there(name: str) -> None:
    assert experiments.find(name).__name__ == name.replace("-", "_")


def test_every_experiment_is_listed() -> None:
    """An experiment is a function of its file that takes a dataset and options."""
    found = set()
    for one in pkgutil.iter_modules(experiments.__path__):
        module = import_module(f"{experiments.__name__}.{one.name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and [*inspect.signature(function).parameters] == PARAMETERS:
                found.add(name.replace("_", "-"))
    assert found == {*experiments.SUMMARIES}


def test_an_unknown_name() -> None:
    with pytest.raises(KeyError, match=r"'parsley'.*pareto, efficiency"):
        experiments.find("parsley")


def test_the_list_imports_no_experiment() -> None:
    code = "import sys, maxsieve.lab.experiments as it; assert len(it.SUMMARIES); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"maxsieve.lab.experiment", "maxsieve.text", "maxsieve.lab.experiments.pareto"} & {*loaded}
