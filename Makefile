# Two commands are all a newcomer needs: `make demo` and `make test`. Each creates .venv and builds what it runs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt $(shell find native -name '*.cpp' -o -name '*.hpp')
PYTEST := $(BIN)/python -m pytest
# Corpora for tests on real data; they are skipped, and say so, where there are none.
export MAXSIEVE_CORPORA

.PHONY: demo test test-full lint format bench rescored sanitize clean

demo: $(VENV)/demo.stamp
	$(BIN)/python benchmarks/demo.py

test: $(VENV)/dev.stamp
	$(PYTEST) -n 2 --dist worksteal

test-full: $(VENV)/dev.stamp
	MAXSIEVE_FULL=1 $(PYTEST) -n 2 --dist worksteal

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(filter-out CMakeLists.txt,$(NATIVE))

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(filter-out CMakeLists.txt,$(NATIVE))

bench: $(VENV)/dev.stamp
	$(BIN)/python benchmarks/bench.py $(ARGS)

# Mean number of documents that `Certified` rescores on a real corpus.
rescored: $(VENV)/dev.stamp
	$(BIN)/python benchmarks/rescored.py $(ARGS)

# The native tests under AddressSanitizer and UndefinedBehaviorSanitizer, in a build of their own.
sanitize: $(VENV)/dev.stamp
	tools/sanitize.sh

# Only what the demo needs: no test tools.
$(VENV)/demo.stamp: pyproject.toml $(NATIVE) | $(VENV)
	$(BIN)/pip install --quiet --editable '.[progress]'
	touch $@

$(VENV)/dev.stamp: pyproject.toml $(NATIVE) | $(VENV)
	$(BIN)/pip install --quiet --editable '.[dev]' --config-settings=cmake.define.MAXSIEVE_WERROR=ON
	touch $@ $(VENV)/demo.stamp

$(VENV):
	$(PYTHON) -m venv $@

clean:
	rm -rf $(VENV) build
