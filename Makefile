# Two commands are all a newcomer needs: `make demo` and `make test`. Each creates .venv and builds what it runs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH_VENV := .venv-bench
PLAID_VENV := .venv-plaid
NATIVE := CMakeLists.txt $(shell find native -name '*.cpp' -o -name '*.hpp')
PEERS := benchmarks/requirements.txt benchmarks/requirements-optional.txt
PYTEST := $(BIN)/python -m pytest
# Corpora for tests on real data; they are skipped, and say so, where there are none.
export MAXSIEVE_CORPORA

.PHONY: demo serve-demo test test-full test-arm test-emulated test-page screenshot lint format bench bench-plaid rescored retrieval results sanitize clean

demo: $(VENV)/demo.stamp
	$(BIN)/maxsieve demo

# The service on the demo's docstrings, with its page: http://127.0.0.1:8800/
serve-demo: $(VENV)/serve.stamp
	$(BIN)/maxsieve demo --serve $(ARGS)

test: $(VENV)/dev.stamp
	$(PYTEST) -n 2 --dist worksteal

test-full: $(VENV)/dev.stamp
	MAXSIEVE_FULL=1 $(PYTEST) -n 2 --dist worksteal

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
bench: $(BENCH_VENV)/bench.stamp $(if $(findstring fast-plaid,$(ARGS)),$(PLAID_VENV)/plaid.stamp)
	$(BENCH_VENV)/bin/python benchmarks/bench.py $(ARGS)

bench-plaid: $(PLAID_VENV)/plaid.stamp

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

$(PLAID_VENV)/plaid.stamp: benchmarks/requirements-plaid.txt | $(PLAID_VENV)
	$(PLAID_VENV)/bin/pip install --quiet --requirement benchmarks/requirements-plaid.txt
	touch $@

$(VENV) $(BENCH_VENV) $(PLAID_VENV):
	$(PYTHON) -m venv $@

clean:
	rm -rf $(VENV) $(BENCH_VENV) $(PLAID_VENV) build
