# make demo   plays the battleship league and prints its table
# make test   installs what the tests need and runs them all
# make ptx    installs numba-cuda (550 MB) and compiles every game for GPUs
# make bench  measures speed beside the peers that are installed
# make pages  plays leagues and pages again that are older than their code
# make lint   what pre-commit checks
# make lock   requirements.lock anew, with hashes; make sbom: which packages; make audit: their known vulnerabilities

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

.PHONY: help demo test test-slow ptx bench pages lint lock sbom audit format clean

help:
	@sed -n 's/^# //p' Makefile | head -7

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("asobiba needs Python 3.11 or newer, this is " + sys.version) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip

$(VENV)/.demo: $(BIN)/python pyproject.toml
	@echo "Installing asobiba into $(VENV) ..."
	$(PIP) --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt requirements.lock
	@echo "Installing what the tests need into $(VENV) ..."
	@# The lock holds hashes; the build of PyTorch that fits the machine does not stand in it.
	$(PIP) --require-hashes --no-deps --requirement requirements.lock || \
		{ echo "requirements.lock does not fit this machine (see above): installing the versions of constraints.txt, without"; \
		  echo "hashes, and of everything else the newest"; }
	$(PIP) $(TORCH_ARGS) --constraint constraints.txt torch
	$(PIP) --no-build-isolation --constraint constraints.txt --editable '.[dev]'
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

TOOLS := $(VENV)-tools
$(TOOLS)/.done: .ci/tools.lock
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --no-compile --require-hashes --no-deps --requirement .ci/tools.lock
	@touch $@

# Needs the package index: what a new dependency or version needs, with hashes. Versions that fit are kept.
COMPILE := $(TOOLS)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--index-url https://pypi.org/simple --custom-compile-command "make lock"
lock: $(TOOLS)/.done
	$(COMPILE) --config-file .ci/lock.toml --extra dev --constraint constraints.txt --no-emit-package torch \
		--output-file requirements.lock pyproject.toml
	$(COMPILE) --output-file .ci/tools.lock .ci/tools.in

# Which packages the tests have run with, as CycloneDX; published beside a release.
sbom: $(VENV)/.dev $(TOOLS)/.done
	mkdir -p dist
	$(TOOLS)/bin/cyclonedx-py environment --output-reproducible --output-file dist/asobiba.cdx.json $(BIN)/python
	@echo "Written: dist/asobiba.cdx.json"

# Needs the network: the service that knows the vulnerabilities (AUDIT="--vulnerability-service osv" for another one).
AUDIT ?=
audit: $(TOOLS)/.done
	$(TOOLS)/bin/pip-audit --strict --require-hashes --disable-pip --requirement requirements.lock $(AUDIT)

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) $(TOOLS) build dist *.egg-info
