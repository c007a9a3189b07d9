"""The list of experiments is known without importing them, and agrees with the files."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

from maxsieve.lab import experiments


@pytest.mark.parametrize("name", experiments.SUMMARIES)
def test_every_listed_experiment_is_there(name: str) -> None:
    found = experiments.find(name)
    assert (found.name, found.summary) == (name, experiments.SUMMARIES[name])


def test_every_experiment_is_listed() -> None:
    modules = [
        import_module(f"{experiments.__name__}.{one.name}") for one in pkgutil.iter_modules(experiments.__path__)
    ]
    assert {module.EXPERIMENT.name for module in modules if hasattr(module, "EXPERIMENT")} <= {*experiments.EXPERIMENTS}


def test_an_unknown_name() -> None:
    with pytest.raises(KeyError, match="no experiment 'parsley'; there are pareto, efficiency"):
        experiments.find("parsley")
    assert "parsley" not in experiments.EXPERIMENTS


def test_the_list_imports_no_experiment() -> None:
    code = "import sys, maxsieve.lab.experiments as it; assert len(it.EXPERIMENTS); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"maxsieve.lab.experiment", "maxsieve.text", "maxsieve.lab.experiments.pareto"} & {*loaded}
