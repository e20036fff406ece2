# make demo   plays the battleship league and prints its table
# make test   installs what the tests need and runs them all
# make ptx    installs numba-cuda (550 MB) and compiles every game for GPUs
# make bench  measures speed beside the peers that are installed
# make pages  plays leagues and pages again that are older than their code
# make lint   what pre-commit checks

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Python compiles what is imported; all that is installed would take twice the time of the installation.
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check
# Where PyTorch's CPU build comes from, if your package index would give another one, for example:
#   make test TORCH_ARGS="--index-url https://download.pytorch.org/whl/cpu"
TORCH_ARGS ?=
# Further options of the demo, such as DEMO="--minutes 5".
DEMO ?=

# Hundreds of processes import the same packages, which pip has not compiled: Python shall keep what the first compiles.
unexport PYTHONDONTWRITEBYTECODE

# Further options of the pages, such as PAGES=--list.
PAGES ?=

.PHONY: help demo test test-slow ptx bench pages lint format clean

help:
	@sed -n 's/^# //p' Makefile | head -6

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("asobiba needs Python 3.11 or newer, this is " + sys.version) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip

$(VENV)/.demo: $(BIN)/python pyproject.toml
	@echo "Installing asobiba into $(VENV) ..."
	$(PIP) --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing what the tests need into $(VENV) ..."
	$(PIP) $(TORCH_ARGS) --constraint constraints.txt torch
	$(PIP) --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/asobiba league run battleship --demo $(DEMO)

test: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell
	@# mypy takes half a minute of one core; some of the tests wait for time to pass.
	@$(BIN)/mypy & types=$$!; $(BIN)/python -m pytest -n 2 --dist loadfile --durations=25; tests=$$?; \
		wait $$types && exit $$tests

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow

ptx: $(VENV)/.dev
	$(PIP) --constraint constraints.txt --editable '.[gpu]'
	$(BIN)/python -m pytest -n 2 tests/test_ptx.py

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py

pages: $(VENV)/.dev
	$(BIN)/asobiba publish $(PAGES)

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) build dist *.egg-info
