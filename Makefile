# Two commands are all a newcomer needs: `make demo` and `make test`. Each creates .venv and builds what it runs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH_VENV := .venv-bench
PLAID_VENV := .venv-plaid
# The packages of adapters: one environment for those that work together, one for each of the others.
ADAPTERS_VENV := .venv-adapters
PYLATE_VENV := .venv-pylate
NATIVE := CMakeLists.txt $(shell find native -name '*.cpp' -o -name '*.hpp')
STRICT := --config-settings=cmake.define.MAXSIEVE_WERROR=ON
PEERS := benchmarks/requirements.txt benchmarks/requirements-optional.txt
PYTEST := $(BIN)/python -m pytest
# Corpora for tests on real data. Without them these tests are skipped, with a message.
export MAXSIEVE_CORPORA
# Tests start many processes, which must not compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo serve-demo test test-full test-rest test-arm test-emulated test-adapters coverage lock-adapters adapters-bench lint format bench bench-plaid rescored retrieval stores results sanitize first-stages test-page test-mcp screenshot docs figures wheel check-windows test-cluster cluster-faults clean

demo: $(VENV)/demo.stamp
	$(BIN)/maxsieve demo

# The service on the demo's docstrings, with its page: http://127.0.0.1:8800/
serve-demo: $(VENV)/serve.stamp
	$(BIN)/maxsieve demo --serve $(ARGS)

# Tests that need neither torch nor Ray, nor a browser, nor a real corpus, nor much time: at most 6 minutes on 2 cores,
# from a fresh clone. tests/long_form.py says what the other forms run.
test: $(VENV)/test.stamp
	$(PYTEST) -n 2 --dist worksteal $(ARGS)

# Every test with all its cases; then those that need a browser, packages that conflict with others, a Ray cluster,
# other compilers, or an emulator, which is slow. `.ci/run` has all of this in two parts, with only some of the emulated
# cases.
test-full: $(VENV)/dev.stamp
	MAXSIEVE_TESTS=full $(PYTEST) -n 2 --dist worksteal $(ARGS)
	$(MAKE) test-page test-adapters test-cluster check-windows
	MAXSIEVE_TESTS=full $(MAKE) test-emulated test-arm

# The tests in $(VENV) that `make test` leaves out.
test-rest: $(VENV)/dev.stamp
	MAXSIEVE_TESTS=rest $(PYTEST) -n 2 --dist worksteal $(ARGS)

# Corpora in shards on a Ray cluster of three nodes, all on this machine. One process, because there is one cluster.
test-cluster: $(VENV)/dev.stamp
	MAXSIEVE_TESTS=cluster $(PYTEST) tests/cluster $(ARGS)

# 20 actors and 5 nodes are killed, 5 actors stopped while a corpus is searched; prints figures of docs/cluster.md.
cluster-faults: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.runs.cluster.faults $(ARGS)

# The adapters and docs/adapters.md, each in the environment that has its package: tests/adapters/environments.py says which.
# Warnings of other packages are ignored: they can't be fixed here.
test-adapters: $(ADAPTERS_VENV)/adapters.stamp $(PYLATE_VENV)/adapters.stamp $(PLAID_VENV)/adapters.stamp
	MAXSIEVE_ADAPTERS=together $(ADAPTERS_VENV)/bin/python -m pytest -W ignore tests/adapters src/maxsieve/adapters $(ARGS)
	MAXSIEVE_ADAPTERS=pylate $(PYLATE_VENV)/bin/python -m pytest -W ignore tests/adapters src/maxsieve/adapters $(ARGS)
	MAXSIEVE_ADAPTERS=plaid $(PLAID_VENV)/bin/python -m pytest -W ignore tests/adapters/test_docs.py $(ARGS)

# What first stages cost in overlap, on real vectors; fast-plaid too, if `make bench-plaid` was run.
first-stages: $(ADAPTERS_VENV)/adapters.stamp
	$(ADAPTERS_VENV)/bin/python -m benchmarks.runs.first_stages $(ARGS)

# Resolves all versions of tests/adapters/*.txt again, from the few of *.in.
lock-adapters:
	tools/adapters_env.sh lock $(ADAPTERS_VENV) together
	tools/adapters_env.sh lock $(PYLATE_VENV) pylate
	tools/adapters_env.sh lock $(PLAID_VENV) plaid

# The frozen bits of the kernels for AArch64, under QEMU (all native tests with MAXSIEVE_TESTS=full). Needs Debian, and installs an
# emulator and a cross compiler if it may.
test-arm:
	tools/test_arm.sh $(ARGS)

# Which lines and branches the tests run, of Python and of C++; fails below a minimum.
coverage: build/coverage.stamp
	tools/coverage.sh run $(ARGS)

lint: $(VENV)/test.stamp $(VENV)/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	for system in linux win32 darwin; do $(BIN)/mypy --platform $$system || exit 1; done
	$(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run --Werror $(filter-out CMakeLists.txt,$(NATIVE))
	$(BIN)/python tools/prose.py
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --quiet --offline --persona pedantic .github/workflows

format: $(VENV)/test.stamp $(VENV)/lint.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(filter-out CMakeLists.txt,$(NATIVE))

# The documentation as a site that needs no network: build/site/index.html. It fails on any warning, on a page that loads
# something from another site, and on a broken link.
docs: $(VENV)/docs.stamp
	$(BIN)/python -m doctest tools/site/docstrings.py
	$(BIN)/python tools/site/prepare.py
	$(BIN)/zensical build --strict --clean --config-file mkdocs.yml
	$(BIN)/python tools/site/check.py build/site

# The tables and charts of the README and of docs/, from benchmarks/results, which `make bench ARGS="--results FILE ..."` writes.
figures: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.figures.documents

# Times maxsieve and other libraries side by side, in a separate environment. ARGS="--quick" takes a minute. fast-plaid needs
# another version of torch: its environment is made when ARGS name it, and by `make bench-plaid`.
bench: $(BENCH_VENV)/bench.stamp $(if $(findstring fast-plaid,$(ARGS)),$(PLAID_VENV)/adapters.stamp)
	$(BENCH_VENV)/bin/python -m benchmarks.bench $(ARGS)

bench-plaid: $(PLAID_VENV)/adapters.stamp

# The adapters' scorers beside those of the libraries they are for; prints the table of docs/adapters.md.
adapters-bench: $(VENV)/dev.stamp $(ADAPTERS_VENV)/adapters.stamp $(PYLATE_VENV)/adapters.stamp
	$(BIN)/python -m benchmarks.runs.adapters vectors build/adapters-bench/vectors.npz
	$(PYLATE_VENV)/bin/python -m benchmarks.runs.adapters measure build/adapters-bench/vectors.npz $(ARGS)
	MAXSIEVE_ADAPTERS=together $(ADAPTERS_VENV)/bin/python -m benchmarks.runs.adapters measure build/adapters-bench/vectors.npz $(ARGS)

# Mean number of documents that `Certified` rescores on a real corpus.
rescored: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.runs.rescored $(ARGS)

# nDCG@10 of what a collection is by default, of BM25, one vector and hybrid search on judged collections. The first run
# encodes them, which takes a while. ArguAna's queries are whole texts, each of which costs as much as ten others.
retrieval: $(VENV)/dev.stamp
	$(BIN)/maxsieve model fetch minilm
	$(BIN)/maxsieve lab retrieval --corpus scifact --corpus hotpotqa_1k --corpus cosqa --out build/lab $(ARGS)
	$(BIN)/maxsieve lab retrieval --corpus arguana --queries 300 --out build/lab $(ARGS)

# nDCG@10 against bytes for each store, number of dimensions and pooling, and the change over all queries of the corpora.
stores: $(VENV)/dev.stamp
	$(BIN)/maxsieve model fetch minilm
	$(BIN)/maxsieve lab stores --corpus scifact --corpus hotpotqa_1k --corpus cosqa --out build/lab $(ARGS)
	$(BIN)/maxsieve lab stores --corpus arguana --queries 300 --out build/lab $(ARGS)
	$(BIN)/python -m benchmarks.figures.stores build/lab

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

# The MCP inspector (npm) as a client of `maxsieve mcp` and of `maxsieve serve`; without npm it is skipped.
test-mcp: $(VENV)/dev.stamp
	tools/mcp_inspector.sh

# Pictures of it, for the README and docs/.
screenshot: $(VENV)/dev.stamp
	MAXSIEVE_CHROMIUM="$$(tools/chromium.sh)" $(BIN)/python tools/screenshot.py docs

# A tenth of the cases of the native tests, with AVX-512 and AMX emulated (MAXSIEVE_TESTS=full: all, under sanitizers).
# Needs Debian's libsimde-dev, and installs it if it may.
test-emulated:
	tools/emulate.sh

# The sdist and a wheel in dist/, tried in a fresh environment without a compiler: the README's examples, then the tests of
# index, engine and storage. ARGS="--python python3.11 --python python3.13" builds one for each, the latter for the stable ABI.
wheel:
	$(PYTHON) tools/wheel.py $(ARGS)

# Whether the engine compiles for Windows and for macOS's library, as far as Debian's compilers can tell.
check-windows: $(VENV)/dev.stamp
	$(BIN)/python tools/check_windows.py

# Only what the demo needs: no test tools.
$(VENV)/demo.stamp: pyproject.toml $(NATIVE) | $(VENV)
	$(BIN)/pip install --quiet --editable '.[cli]'
	touch $@

$(VENV)/serve.stamp: pyproject.toml $(NATIVE) | $(VENV)
	$(BIN)/pip install --quiet --editable '.[serve]'
	touch $@ $(VENV)/demo.stamp

# What tests import is fetched while the core is built; `dev` is everything, torch and Ray too.
$(VENV)/test.stamp $(VENV)/lint.stamp $(VENV)/coverage.stamp $(VENV)/docs.stamp $(VENV)/dev.stamp: $(VENV)/%.stamp: pyproject.toml $(NATIVE) tools/requirements.py | $(VENV)
	$(MAKE) --no-print-directory -j 2 $(VENV)/core.stamp $(VENV)/$*.packages
	touch $@ $(VENV)/demo.stamp $(VENV)/serve.stamp

$(VENV)/core.stamp: pyproject.toml $(NATIVE) | $(VENV)
	$(BIN)/pip install --quiet --no-deps --editable . $(STRICT)
	touch $@

# Most modules of these packages are never imported: those that are get compiled when they are.
$(VENV)/%.packages: pyproject.toml tools/requirements.py | $(VENV)
	$(BIN)/python tools/requirements.py $* >$@.partial
	$(BIN)/pip install --quiet --no-compile --requirement $@.partial
	mv $@.partial $@

build/coverage.stamp: $(VENV)/coverage.stamp $(NATIVE)
	tools/coverage.sh build
	touch $@

# A build folder of its own, too, because the two environments may be made at the same time. An optional peer may fail to install.
$(BENCH_VENV)/bench.stamp: pyproject.toml $(NATIVE) $(PEERS) | $(BENCH_VENV)
	$(BENCH_VENV)/bin/pip install --quiet --editable '.[lab]' --config-settings=build-dir=build/bench-{cache_tag} --requirement benchmarks/requirements.txt
	grep -v '^#' benchmarks/requirements-optional.txt | while read peer; do \
	  $(BENCH_VENV)/bin/pip install --quiet --constraint benchmarks/requirements.txt "$$peer" || echo "$$peer could not be installed"; done
	touch $@

$(ADAPTERS_VENV)/adapters.stamp: build/editable.stamp tests/adapters/together.txt
	tools/adapters_env.sh make $(ADAPTERS_VENV) together serve
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
	rm -rf $(VENV) $(BENCH_VENV) $(PLAID_VENV) $(ADAPTERS_VENV) $(PYLATE_VENV) build dist
