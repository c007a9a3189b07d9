# Two commands are all a newcomer needs: `make demo` and `make test`. Each creates .venv and builds what it runs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH_VENV := .venv-bench
PLAID_VENV := .venv-plaid
# The packages that adapters are for: one environment for those that agree, one for each that doesn't.
ADAPTERS_VENV := .venv-adapters
PYLATE_VENV := .venv-pylate
NATIVE := CMakeLists.txt $(shell find native -name '*.cpp' -o -name '*.hpp')
PEERS := benchmarks/requirements.txt benchmarks/requirements-optional.txt
PYTEST := $(BIN)/python -m pytest
# Corpora for tests on real data; they are skipped, and say so, where there are none.
export MAXSIEVE_CORPORA

.PHONY: demo serve-demo test test-full test-arm test-emulated test-adapters lock-adapters adapters-bench lint format bench bench-plaid rescored retrieval results sanitize first-stages test-page screenshot clean

demo: $(VENV)/demo.stamp
	$(BIN)/maxsieve demo

# The service on the demo's docstrings, with its page: http://127.0.0.1:8800/
serve-demo: $(VENV)/serve.stamp
	$(BIN)/maxsieve demo --serve $(ARGS)

test: $(VENV)/dev.stamp
	$(PYTEST) -n 2 --dist worksteal

test-full: $(VENV)/dev.stamp
	MAXSIEVE_FULL=1 $(PYTEST) -n 2 --dist worksteal

# The adapters and docs/adapters.md, each in the environment that has its package: tests/adapters/environments.py says which.
# The warnings of other people's packages are not ours to mend.
test-adapters: $(ADAPTERS_VENV)/adapters.stamp $(PYLATE_VENV)/adapters.stamp $(PLAID_VENV)/adapters.stamp
	MAXSIEVE_ADAPTERS=together $(ADAPTERS_VENV)/bin/python -m pytest -W ignore tests/adapters src/maxsieve/adapters $(ARGS)
	MAXSIEVE_ADAPTERS=pylate $(PYLATE_VENV)/bin/python -m pytest -W ignore tests/adapters src/maxsieve/adapters $(ARGS)
	MAXSIEVE_ADAPTERS=plaid $(PLAID_VENV)/bin/python -m pytest -W ignore tests/adapters/test_docs.py $(ARGS)

# What first stages cost in overlap, on real vectors; fast-plaid too, if `make bench-plaid` was run.
first-stages: $(ADAPTERS_VENV)/adapters.stamp
	$(ADAPTERS_VENV)/bin/python benchmarks/first_stages.py $(ARGS)

# All versions of tests/adapters/*.txt anew, from the few of *.in.
lock-adapters:
	tools/adapters_env.sh lock $(ADAPTERS_VENV) together
	tools/adapters_env.sh lock $(PYLATE_VENV) pylate
	tools/adapters_env.sh lock $(PLAID_VENV) plaid

# The native tests for AArch64 under QEMU. Needs Debian; installs an emulator and a cross compiler if it may.
test-arm:
	tools/test_arm.sh $(ARGS)

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run --Werror $(filter-out CMakeLists.txt,$(NATIVE))

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(filter-out CMakeLists.txt,$(NATIVE))

# Side by side with other libraries, which have an environment of their own. ARGS="--quick" takes a minute. One of them,
# fast-plaid, needs another torch: its environment is made when ARGS name it, and by `make bench-plaid`.
bench: $(BENCH_VENV)/bench.stamp $(if $(findstring fast-plaid,$(ARGS)),$(PLAID_VENV)/adapters.stamp)
	$(BENCH_VENV)/bin/python benchmarks/bench.py $(ARGS)

bench-plaid: $(PLAID_VENV)/adapters.stamp

# The adapters' scorers beside those of the libraries they are for; prints the table of docs/adapters.md.
adapters-bench: $(VENV)/dev.stamp $(ADAPTERS_VENV)/adapters.stamp $(PYLATE_VENV)/adapters.stamp
	$(BIN)/python benchmarks/adapters.py vectors build/adapters-bench/vectors.npz
	$(PYLATE_VENV)/bin/python benchmarks/adapters.py measure build/adapters-bench/vectors.npz $(ARGS)
	MAXSIEVE_ADAPTERS=together $(ADAPTERS_VENV)/bin/python benchmarks/adapters.py measure build/adapters-bench/vectors.npz $(ARGS)

# Mean number of documents that `Certified` rescores on a real corpus.
rescored: $(VENV)/dev.stamp
	$(BIN)/python benchmarks/rescored.py $(ARGS)

# nDCG@10 of what a collection is by default, of BM25, one vector and hybrid search on judged collections. The first run
# encodes them, which takes a while. ArguAna's queries are whole texts, each of which costs as much as ten others.
retrieval: $(VENV)/dev.stamp
	$(BIN)/maxsieve model fetch minilm
	$(BIN)/maxsieve lab retrieval --corpus scifact --corpus hotpotqa_1k --corpus cosqa --out build/lab $(ARGS)
	$(BIN)/maxsieve lab retrieval --corpus arguana --queries 300 --out build/lab $(ARGS)

# Every experiment of the lab on the corpora of MAXSIEVE_CORPORA: docs/results.md and its pictures. Takes an hour.
results: $(VENV)/dev.stamp
	$(BIN)/maxsieve model fetch minilm
	tools/results.sh $(ARGS)

# The tests of engine and index under AddressSanitizer and UndefinedBehaviorSanitizer, then under ThreadSanitizer, each in a
# build of its own. ARGS="memory" or ARGS="threads" runs one of the two.
sanitize: $(VENV)/dev.stamp
	tools/sanitize.sh $(ARGS)

# The service's page in a real browser, Chromium, which is installed from Debian's packages if it may be.
test-page: $(VENV)/dev.stamp
	$(BIN)/maxsieve model fetch minilm
	MAXSIEVE_CHROMIUM="$$(tools/chromium.sh)" $(PYTEST) tests/page $(ARGS)

# The README's picture of it.
screenshot: $(VENV)/dev.stamp
	MAXSIEVE_CHROMIUM="$$(tools/chromium.sh)" $(BIN)/python tools/screenshot.py docs/page.png

# The native tests of the AVX-512 and AMX kernels on a machine without them (needs Debian's libsimde-dev).
test-emulated: $(VENV)/dev.stamp
	tools/emulate.sh

# Only what the demo needs: no test tools.
$(VENV)/demo.stamp: pyproject.toml $(NATIVE) | $(VENV)
	$(BIN)/pip install --quiet --editable '.[cli]'
	touch $@

$(VENV)/serve.stamp: pyproject.toml $(NATIVE) | $(VENV)
	$(BIN)/pip install --quiet --editable '.[serve]'
	touch $@ $(VENV)/demo.stamp

$(VENV)/dev.stamp: pyproject.toml $(NATIVE) | $(VENV)
	$(BIN)/pip install --quiet --editable '.[dev]' --config-settings=cmake.define.MAXSIEVE_WERROR=ON
	touch $@ $(VENV)/demo.stamp $(VENV)/serve.stamp

# A build folder of its own, too, for the two environments may be made at the same time. An optional peer may fail to install.
$(BENCH_VENV)/bench.stamp: pyproject.toml $(NATIVE) $(PEERS) | $(BENCH_VENV)
	$(BENCH_VENV)/bin/pip install --quiet --editable '.[lab]' --config-settings=build-dir=build/bench-{cache_tag} --requirement benchmarks/requirements.txt
	grep -v '^#' benchmarks/requirements-optional.txt | while read peer; do \
	  $(BENCH_VENV)/bin/pip install --quiet --constraint benchmarks/requirements.txt "$$peer" || echo "$$peer could not be installed"; done
	touch $@

$(ADAPTERS_VENV)/adapters.stamp: build/editable.stamp tests/adapters/together.txt
	tools/adapters_env.sh make $(ADAPTERS_VENV) together bm25,serve
	touch $@

$(PYLATE_VENV)/adapters.stamp: build/editable.stamp tests/adapters/pylate.txt tests/adapters/pylate.overrides.txt
	tools/adapters_env.sh make $(PYLATE_VENV) pylate text
	touch $@

build/editable.stamp: pyproject.toml $(NATIVE) tools/adapters_env.sh
	tools/adapters_env.sh wheel $(ADAPTERS_VENV)
	touch $@

# 5 GB: its torch comes with libraries for GPUs.
$(PLAID_VENV)/adapters.stamp: build/editable.stamp tests/adapters/plaid.txt
	tools/adapters_env.sh make $(PLAID_VENV) plaid text
	touch $@

$(VENV) $(BENCH_VENV):
	$(PYTHON) -m venv $@

clean:
	rm -rf $(VENV) $(BENCH_VENV) $(PLAID_VENV) $(ADAPTERS_VENV) $(PYLATE_VENV) build
