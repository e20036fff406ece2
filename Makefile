# make demo   plays the battleship league and prints its table
# make test   installs what the tests need and runs them all
# make ptx    installs numba-cuda (550 MB) and compiles every game for GPUs
# make bench  measures speed beside the peers that are installed
# make pages  plays leagues and pages again that are older than their code
# make docs   the site, in build/site: its tutorials are run, and a warning fails it
# make playground   a site on which games are played in the page, in build/playground; make site: beside the pages of docs
# make lint   what pre-commit checks
# make lock   requirements.lock anew, with hashes; make sbom: which packages; make audit: their known vulnerabilities
# make release  sdist and wheel in dist/, the same bytes each time, checked and played

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

# Compiles every game and agent for WebAssembly, which takes long and is kept in the cache: apart from `make docs`.
playground: $(VENV)/.dev
	$(BIN)/asobiba playground --output build/playground

.PHONY: help demo test test-slow ptx bench pages playground docs site docs-links lint lock sbom release conda audit format clean

help:
	@sed -n 's/^# //p' Makefile | head -10

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

# The site has an environment and a lock of its own, so that the tests need not wait for it.
DOCS := $(VENV)-docs
$(DOCS)/.done: .ci/docs.lock constraints.txt pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	@# PyTorch's build depends on the machine; what else is needed stands in the lock, with hashes.
	$(DOCS)/bin/python -m pip install --quiet --no-compile --require-hashes --no-deps --requirement .ci/docs.lock
	$(DOCS)/bin/python -m pip install --quiet --no-compile $(TORCH_ARGS) --constraint constraints.txt torch
	$(DOCS)/bin/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	@touch $@

# The name of the version stands in every path, so that versions lie side by side; links into the repository lead to it.
SITE_VERSION ?= main
SPHINX = PATH="$(abspath $(DOCS)/bin):$$PATH" SITE_ROOT="$(CURDIR)" SITE_VERSION=$(SITE_VERSION) $(DOCS)/bin/python -m sphinx
docs: $(DOCS)/.done
	NUMBA_DISABLE_JIT=1 SITE_REVISION=$(SITE_VERSION) $(DOCS)/bin/python docs/_site/stage.py build/site-source
	$(SPHINX) -W --keep-going -q -j auto -b html -d build/site-doctrees build/site-source build/site/$(SITE_VERSION)
	$(DOCS)/bin/python docs/_site/finish.py build/site $(SITE_VERSION)
	@echo "Written: build/site/$(SITE_VERSION)/index.html; python -m http.server -d build/site shows it"

# The pages link to the playground where it lies in the folder `play` beside them.
site: docs playground
	rm -rf build/site/$(SITE_VERSION)/play
	cp -r build/playground build/site/$(SITE_VERSION)/play

# Needs the network: whether the links to other sites still lead somewhere.
docs-links: docs
	SITE_EXECUTE=off $(SPHINX) -q -b linkcheck build/site-source build/site-links

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
	$(COMPILE) --config-file .ci/lock.toml --extra docs --extra sb3 --extra render --extra openspiel --constraint constraints.txt \
		--no-emit-package torch --output-file .ci/docs.lock pyproject.toml
	$(COMPILE) --output-file .ci/tools.lock .ci/tools.in

# Which packages the tests have run with, as CycloneDX; published beside a release.
sbom: $(VENV)/.dev $(TOOLS)/.done
	mkdir -p dist
	$(TOOLS)/bin/cyclonedx-py environment --output-reproducible --output-file dist/asobiba.cdx.json $(BIN)/python
	@echo "Written: dist/asobiba.cdx.json"

# Sdist and wheel in dist/, built twice with the same bytes, checked, installed and played; what they were tested with beside them.
release: $(TOOLS)/.done sbom
	TOOLS="$(abspath $(TOOLS))" .ci/release

# Needs the network: conda-forge's recipe, from the facts of a release on the package index (or CONDA=dist/*.tar.gz).
CONDA ?= asobiba
conda: $(TOOLS)/.done
	mkdir -p build/conda
	$(TOOLS)/bin/uv tool run --from grayskull==3.2.0 grayskull pypi --strict-conda-forge --no-use-v1-format --output build/conda $(CONDA)

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
	rm -rf $(VENV) $(TOOLS) $(DOCS) build dist *.egg-info
