# make demo    trains a text classifier on real text and shows how good it is
# make test    runs the quick tests on all cores   make test-slow, make test-gpu   the others
# make golden  says whether results differ in any bit from those of a commit: make golden BASE=HEAD~1
# make check   ruff, the format and mypy       make format     lets ruff mend what it can
# Each of them first makes .venv and installs what it needs. Nothing needs a compiler, a data set or a GPU.

PYTHON ?= python3
VENV ?= .venv
BASE ?= HEAD
BIN := $(VENV)/bin
# A worker for each core; files are dealt out whole, see tests/conftest.py.
PARALLEL := --numprocesses auto --maxprocesses 8 --dist loadgroup --no-loadscope-reorder
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-gpu golden check format clean

help:
	@sed -n '1,5s/^# //p' Makefile

$(VENV)/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, $(PYTHON) is %d.%d; try: make PYTHON=python3.12 ..." % sys.version_info[:2])'
	@echo "Making $(VENV) and installing the package (a few minutes the first time) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --editable ".[test,plot,dev]"
	@touch $@

demo: $(VENV)/ready
	@$(BIN)/hashnlp demo

test: $(VENV)/ready
	@$(BIN)/python -m pytest $(PARALLEL)

test-slow: $(VENV)/ready
	@$(BIN)/python -m pytest -m slow

test-gpu: $(VENV)/ready
	@$(BIN)/python -m pytest -m gpu

golden: $(VENV)/ready
	@$(BIN)/python -m tests.golden --base $(BASE)

check: $(VENV)/ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(VENV)/ready
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean:
	rm -rf $(VENV) dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
