# make demo    trains a text classifier on real text and shows how good it is
# make test    runs the quick tests on all cores   make test-slow, make test-gpu, make test-cluster   the others
# make fuzz    reads 100,000 damaged files with each reader, in some half an hour
# make golden  says whether results differ in any bit from those of a commit: make golden BASE=HEAD~1
# make test-processors   the quick tests, with libraries set to compute as on other processors; QUICK=1: fewer
# make check   ruff, the format and mypy       make format     lets ruff mend what it can
# make docs    builds the documentation in docs/_build/html; make docs QUICK=1 runs its examples on less data
# make test-lowest   the quick tests on the lowest versions       make coverage      which lines they reach
# make dist    builds and checks sdist and wheel                  make bench-check   fails if it became slower
# The first makes .venv and installs the package, the others add what they need. None needs a compiler or a GPU.

PYTHON ?= python3
VENV ?= .venv
BASE ?= HEAD
COMMA := ,
BIN := $(VENV)/bin
# A worker for each core; files are dealt out whole, see tests/conftest.py.
PARALLEL := --numprocesses auto --maxprocesses 8 --dist loadgroup --no-loadscope-reorder
# Without bytecode files each worker would compile all tests anew.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

# Run a command, $(2): a terminal shows a line that counts the seconds, a log has one line a minute.
define run
	@$(2) & process=$$!; seconds=0; [ -t 1 ] || echo "$(1) ..."; \
	while kill -0 $$process 2>/dev/null; do \
		sleep 1; seconds=$$((seconds + 1)); \
		if [ -t 1 ]; then printf '\r%s' "$(1), $$seconds s ..."; \
		elif [ $$((seconds % 60)) = 0 ]; then echo "$(1), $$seconds s ..."; fi; \
	done; \
	wait $$process; status=$$?; \
	if [ -t 1 ]; then echo; elif [ $$status = 0 ]; then echo "$(1): done, $$seconds s"; fi; \
	exit $$status
endef

# A command that installs the CPU build of PyTorch into $(1), with the constraints $(2), where there is no CUDA device:
# the default build has 5.8 GB of CUDA libraries. If the index cannot be reached, the package brings the default build.
CPU_TORCH := https://download.pytorch.org/whl/cpu
has_cuda = [ "$$(uname -s)" != Linux ] || command -v nvidia-smi >/dev/null || ls /dev/nvidia* >/dev/null 2>&1
cpu_torch = { $(has_cuda) || $(1)/bin/python -m pip show torch >/dev/null 2>&1 \
	|| $(1)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --constraint $(2) \
		--index-url $(CPU_TORCH) --retries 0 --timeout 10 torch 2>/dev/null \
	|| echo "It cannot be downloaded: the default build follows."; }

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow fuzz test-gpu test-cluster test-lowest test-processors golden check format coverage dist bench-check \
	docs clean

help:
	@sed -n '1,10s/^# //p' Makefile

$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, $(PYTHON) is %d.%d; try: make PYTHON=python3.12 ..." % sys.version_info[:2])'
	@echo "Installing the package into $(VENV): 0.4 GB to download, 5.8 GB with a GPU; a few minutes the first time ..."
	$(call run,Making $(VENV),$(PYTHON) -m venv $(VENV))
	$(call run,Installing PyTorch$(COMMA) for CPUs if there is no GPU,$(call cpu_torch,$(VENV),constraints.txt))
	$(call run,Installing the package,$(PIP) --editable ".[plot]")
	@touch $@

$(VENV)/ready: $(VENV)/installed
	$(call run,Installing what tests and checks need,$(PIP) --editable ".[test$(COMMA)plot$(COMMA)dev]")
	@touch $@

demo: $(VENV)/installed
	@$(BIN)/hashnlp demo

test: $(VENV)/ready
	@$(BIN)/python -m pytest $(PARALLEL)

test-slow: $(VENV)/ready
	@$(BIN)/python -m pytest -m slow

fuzz: $(VENV)/ready
	@$(BIN)/python -m tests.fuzz

test-gpu: $(VENV)/ready
	@$(BIN)/python -m pytest -m gpu

# On dask, Spark (which needs Java), Ray and accelerate, which are installed for it.
test-cluster: $(VENV)/ready
	$(call run,Installing dask$(COMMA) pyspark$(COMMA) ray and accelerate,$(PIP) --editable ".[test$(COMMA)scale]")
	@$(BIN)/python -m pytest -m slow tests/test_cluster_examples.py

test-processors: $(VENV)/ready
	@$(BIN)/python -m tests.processors $(if $(QUICK),--quick)

golden: $(VENV)/ready
	@$(BIN)/python -m tests.golden --base $(BASE)

check: $(VENV)/ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(VENV)/ready
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# The lowest versions, in an environment of their own.
LOWEST := $(VENV)-lowest
$(LOWEST)/ready: pyproject.toml constraints-lowest.txt
	$(call run,Making $(LOWEST),$(PYTHON) -m venv $(LOWEST))
	$(call run,Installing PyTorch$(COMMA) for CPUs if there is no GPU,$(call cpu_torch,$(LOWEST),constraints-lowest.txt))
	$(call run,Installing the lowest versions,$(LOWEST)/bin/python -m pip --disable-pip-version-check install --quiet \
		--constraint constraints-lowest.txt --editable ".[test$(COMMA)plot]")
	@touch $@

test-lowest: $(LOWEST)/ready
	@NUMBA_CACHE_DIR=$(abspath $(LOWEST))/numba $(LOWEST)/bin/python -m pytest $(PARALLEL)

$(VENV)/release: $(VENV)/ready
	$(call run,Installing what a release needs,$(PIP) --editable ".[release]")
	@touch $@

# Compiled kernels are not traced: see [tool.coverage.report] in pyproject.toml.
coverage: $(VENV)/release
	@$(BIN)/python -m pytest $(PARALLEL) --cov=sklearn_hashnlp --cov-branch --cov-report=term:skip-covered

dist: $(VENV)/release
	@$(BIN)/python -m tests.release

# Without a network; a warning is an error. The gallery runs the examples, in four minutes of processor time.
$(VENV)/docs: $(VENV)/installed
	$(call run,Installing what the documentation needs,$(PIP) --editable ".[docs]")
	@touch $@

docs: $(VENV)/docs
	@HASHNLP_QUICK=$(QUICK) $(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going docs docs/_build/html
	@$(BIN)/python docs/site/check_site.py docs/_build/html
	@echo "Open docs/_build/html/index.html"

bench-check: $(VENV)/ready
	@$(BIN)/python -m benchmarks run bench_check

clean:
	rm -rf $(VENV) $(LOWEST) dist .coverage* .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf docs/_build docs/api docs/gallery docs/generated
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
