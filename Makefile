# make demo    trains a text classifier on real text and shows how good it is
# make test    runs the quick tests of the package on all cores, make test-benchmarks those of benchmarks, pages,
#              examples and source files  make test-slow, make test-gpu, make test-cluster   the others
# make fuzz    reads 100,000 damaged files with each reader, in some half an hour
# make golden  says whether results differ in any bit from those of a commit: make golden BASE=HEAD~1
# make sanitize          tests and fuzzes kernels that check addresses and undefined behavior
# make test-processors   the quick tests, with libraries set to compute as on other processors; QUICK=1: fewer
# make check   ruff, the formats and mypy      make format     formats, and mends what ruff can
# make docs    builds the documentation in docs/_build/html; make docs QUICK=1 runs its examples on less data
# make test-lowest   the quick tests on the lowest versions       make coverage      which lines they reach
# make dist    builds and checks sdist and wheel                  make bench-check   fails if it became slower
# The first makes .venv and installs the package, the others add what they need, and compile kernels that have changed.
# None needs a GPU, nor a C++ compiler: where there is none, one is installed into .venv.

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
BUILD_TOOLS := cmake nanobind ninja scikit-build-core
KERNELS := $(wildcard native/*.* sklearn_hashnlp/kernels/*.[ch]pp sklearn_hashnlp/kernels/*/*.[ch]pp)
# Runs a command with the C++ compiler of the system, or with one that it installs.
WITH_COMPILER := $(BIN)/python native/find_compiler.py

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
.PHONY: help demo test test-benchmarks test-slow fuzz sanitize test-gpu test-cluster test-lowest test-processors golden check format coverage \
	dist bench-check docs clean

help:
	@sed -n '1,13s/^# //p' Makefile

$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, $(PYTHON) is %d.%d; try: make PYTHON=python3.12 ..." % sys.version_info[:2])'
	@$(PYTHON) native/find_compiler.py
	@echo "Installing the package into $(VENV): 0.4 GB to download, 5.8 GB with a GPU; a few minutes the first time ..."
	$(call run,Making $(VENV),$(PYTHON) -m venv $(VENV))
	$(call run,Installing what compiles the kernels,$(PIP) $(BUILD_TOOLS))
	@$(WITH_COMPILER) true
	$(call run,Installing PyTorch$(COMMA) for CPUs if there is no GPU,$(call cpu_torch,$(VENV),constraints.txt))
	$(call run,Installing the package,$(WITH_COMPILER) $(PIP) --no-build-isolation --editable ".[plot]")
	@touch $@

$(VENV)/native: $(VENV)/installed $(KERNELS)
	@$(WITH_COMPILER) $(BIN)/python native/build_backend.py
	@touch $@

# The package is there: this only adds packages.
$(VENV)/packages: $(VENV)/installed
	$(call run,Installing what tests and checks need,$(PIP) "sklearn-hashnlp[test$(COMMA)plot$(COMMA)dev]")
	@touch $@

READY := $(VENV)/native $(VENV)/packages

demo: $(VENV)/native
	@$(BIN)/hashnlp demo

# Tests of benchmarks, pages and examples, which are not installed, and of the source files as such.
HOUSE := $(addprefix tests/,processors test_files_that_run.py test_places.py test_sizes.py)
BENCHMARKS := tests/benchmarks tests/docs benchmarks/runner docs README.md $(HOUSE)

test: $(READY)
	@$(BIN)/python -m pytest $(PARALLEL) tests sklearn_hashnlp $(BENCHMARKS:%=--ignore=%)

test-benchmarks: $(READY)
	@$(BIN)/python -m pytest $(PARALLEL) $(BENCHMARKS)

test-slow: $(READY)
	@$(BIN)/python -m pytest -m slow

fuzz: $(READY)
	@$(BIN)/python -m tests.fuzz

sanitize: $(READY)
	@$(WITH_COMPILER) $(BIN)/python -m tests.sanitize

test-gpu: $(READY)
	@$(BIN)/python -m pytest -m gpu

# On dask and Ray, which are installed for it.
test-cluster: $(READY)
	$(call run,Installing dask and ray,$(PIP) "sklearn-hashnlp[test$(COMMA)scale]")
	@$(BIN)/python -m pytest -m slow tests/docs/test_cluster_examples.py

test-processors: $(READY)
	@$(BIN)/python -m tests.processors $(if $(QUICK),--quick)

golden: $(READY)
	@$(WITH_COMPILER) $(BIN)/python -m tests.golden --base $(BASE)

CPP := $(filter %.cpp %.hpp,$(KERNELS))

check: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/clang-format --dry-run --Werror $(CPP)
	@$(BIN)/mypy

format: $(READY)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(CPP)

# The lowest versions, in an environment of their own.
LOWEST := $(VENV)-lowest
LOWEST_PIP := $(LOWEST)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints-lowest.txt
$(LOWEST)/ready: pyproject.toml constraints-lowest.txt
	@$(PYTHON) native/find_compiler.py
	$(call run,Making $(LOWEST),$(PYTHON) -m venv $(LOWEST))
	$(call run,Installing what compiles the kernels,$(LOWEST_PIP) $(BUILD_TOOLS))
	$(call run,Installing PyTorch$(COMMA) for CPUs if there is no GPU,$(call cpu_torch,$(LOWEST),constraints-lowest.txt))
	$(call run,Installing the lowest versions,$(LOWEST)/bin/python native/find_compiler.py \
		$(LOWEST_PIP) --no-build-isolation --editable ".[test$(COMMA)plot]")
	@touch $@

test-lowest: $(LOWEST)/ready
	@$(LOWEST)/bin/python native/find_compiler.py $(LOWEST)/bin/python native/build_backend.py
	@$(LOWEST)/bin/python -m pytest $(PARALLEL)

$(VENV)/release: $(VENV)/packages
	$(call run,Installing what a release needs,$(PIP) "sklearn-hashnlp[release]")
	@touch $@

coverage: $(READY) $(VENV)/release
	@$(BIN)/python -m pytest $(PARALLEL) --cov=sklearn_hashnlp --cov-branch --cov-report=term:skip-covered

dist: $(READY) $(VENV)/release
	@$(WITH_COMPILER) $(BIN)/python -m tests.release

# Without a network; a warning is an error. The gallery runs the examples, in four minutes of processor time.
$(VENV)/docs: $(VENV)/installed
	$(call run,Installing what the documentation needs,$(PIP) "sklearn-hashnlp[docs]")
	@touch $@

docs: $(VENV)/docs $(VENV)/native
	@HASHNLP_QUICK=$(QUICK) $(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going docs docs/_build/html
	@$(BIN)/python docs/site/check_site.py docs/_build/html
	@echo "Open docs/_build/html/index.html"

bench-check: $(READY)
	@$(BIN)/python -m benchmarks run bench_check

clean:
	rm -rf $(VENV) $(LOWEST) build dist sklearn_hashnlp/kernels/_native.* .coverage* .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf docs/_build docs/api docs/gallery docs/generated
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
