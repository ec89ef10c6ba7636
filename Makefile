# The two commands of the README are `make demo` and `make test`. Everything runs in .venv, which is made when needed.
PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
EXAMPLES ?= 20000
OUT ?= out
STUDIES ?= synthetic exhaustive unit-norm intermediate extreme bound robustness

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.DEFAULT_GOAL := help
.PHONY: help demo oldest interpreters release paper test faults corpus fuzz same lint format types contracts check coverage docs bench wheel smoke api clean

help:  ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## */make \1\t/' | expand -t 18

demo: $(VENV)/.installed  ## random against informed assignments, then every assignment; leaves pictures and pages
	$(BIN)/python examples/00_demo.py --output $(OUT)/demo
	$(BIN)/codekin study run synthetic --output $(OUT)/studies
	$(BIN)/codekin study run exhaustive --only yeast --output $(OUT)/studies
	$(BIN)/codekin study run robustness --only digits --output $(OUT)/studies
	@echo "The pages: $(OUT)/demo/index.html and $(OUT)/studies/index.html"

paper: $(VENV)/.installed  ## rerun the paper's experiments on all data that is there (CODEKIN_DATA names its folder)
	for study in $(STUDIES); do $(BIN)/codekin study run $$study --output $(OUT)/studies || exit 1; done
	@echo "$(OUT)/studies/index.html"

test: $(VENV)/.installed-dev  ## run all tests, in random order
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

faults: $(VENV)/.installed-dev  ## provoke every fault: signals, full disks, damaged files, two processes; what came of it
	$(BIN)/python -m tests.faults

corpus: $(VENV)/.installed-dev  ## feed a corpus of broken inputs to the command line; answers, worst time and memory
	$(BIN)/python -m tests.faults corpus

same: $(VENV)/.installed-dev  ## one process, several, a cluster whose workers are killed: is the result the same?
	$(BIN)/python benchmarks/same_result.py

# Bounds checking makes other code of the kernels, which needs a cache of its own.
fuzz: $(VENV)/.installed-dev  ## read thousands of mutated files and forged model folders; EXAMPLES says how many
	CODEKIN_FUZZ_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -n $(JOBS) tests/faults/test_fuzz_readers.py tests/faults/test_fuzz_folders.py
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/$(OUT)/checked-kernels $(BIN)/python -m tests.faults forge --examples $(EXAMPLES) --jobs $(JOBS)

lint: $(VENV)/.installed-dev  ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.installed-dev  ## mend style and formatting where a tool can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.installed-dev  ## check the types
	$(BIN)/mypy

contracts: $(VENV)/.installed-dev  ## check that no layer imports one above it
	$(BIN)/lint-imports

check: lint types contracts test  ## lint, types, contracts and test

# Compiled code hides its lines from the measurement, so the kernels' tests run a second time as plain Python.
coverage: $(VENV)/.installed-dev  ## which lines the tests reach, kernels included
	rm -f .coverage .coverage.*
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/kernels -n $(JOBS) --cov --cov-report=
	$(BIN)/python -m pytest -n $(JOBS) --cov --cov-append --cov-report=term-missing:skip-covered --cov-report=html:$(OUT)/coverage

docs: $(VENV)/.installed-docs  ## build the documentation and run its gallery; a broken link or name is an error
	rm -rf $(OUT)/docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs $(OUT)/docs
	@echo "$(OUT)/docs/index.html"

bench: $(VENV)/.installed-dev  ## run every benchmark, both sides of each claim in one run
	@failed=; for script in benchmarks/*.py; do \
		echo "== $$script"; $(BIN)/python $$script || failed="$$failed $$script"; \
	done; test -z "$$failed" || { echo "failed, or missing data:$$failed"; exit 1; }

wheel: $(VENV)/.installed-dev  ## build the wheel into dist/
	rm -rf build dist
	$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir dist .
	@ls dist/*.whl

# What users get: both files, as PyPI would check them.
release: $(VENV)/.installed-dev  ## build wheel and sdist into dist/ and check their metadata
	rm -rf build dist
	$(PIP) build twine
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*

smoke: wheel  ## install the wheel alone into a new environment and use it there
	rm -rf $(VENV)-smoke
	$(PYTHON) .ci/smoke.py --environment $(VENV)-smoke dist
	rm -rf $(VENV)-smoke

# The parts that depend on other libraries the most. TESTS=tests runs all that these environments can.
TESTS ?= tests/estimators tests/decoding tests/learners tests/storage tests/datasets tests/deploy tests/deploy/serve tests/cli/test_predict.py
TEST_TOOLS := 'pytest>=8.3' 'hypothesis>=6.100' 'networkx>=3.2' 'safetensors>=0.5' 'pandas>=2.2' 'pyarrow>=18.0' 'import-linter>=2.1' numpydoc
oldest:  ## run tests with the lowest versions of all dependencies (.ci/oldest.txt), on the oldest Python
	rm -rf $(VENV)-oldest
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip --disable-pip-version-check install --quiet --editable '.[serve]' -c .ci/oldest.txt $(TEST_TOOLS)
	$(VENV)-oldest/bin/python -m pytest -q -p no:randomly $(TESTS)

INTERPRETERS ?= python3.11 python3.12 python3.13
interpreters: wheel  ## the wheel alone and its tests on several interpreters; INTERPRETERS="python3.12 ..." names them
	for python in $(INTERPRETERS); do \
		rm -rf $(VENV)-other && $$python .ci/smoke.py --environment $(VENV)-other dist && \
		$(VENV)-other/bin/python -m pip --disable-pip-version-check install --quiet --editable '.[serve]' $(TEST_TOOLS) && \
		$(VENV)-other/bin/python -m pytest -q -p no:randomly $(TESTS) || exit 1; \
	done; rm -rf $(VENV)-other

api: $(VENV)/.installed-dev  ## write down the public API after a change that was meant
	$(BIN)/python -m tests.test_contracts.public_api

clean:  ## remove everything that make made
	rm -rf $(VENV) $(VENV)-smoke $(VENV)-oldest $(VENV)-other build dist $(OUT) docs/gallery docs/sg_execution_times.rst .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# A stamp is newer than pyproject.toml while the environment has what pyproject.toml asks for.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "codekin needs Python 3.11 or later; $(PYTHON) is `$(PYTHON) --version`. Try: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[plots]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[docs]'
	@touch $@
