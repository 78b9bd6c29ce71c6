# `make test` and `make demo` work in a fresh clone with nothing but Python: the first call makes .venv and installs into
# it, later calls install again only when pyproject.toml, setup.py or constraints.txt changed.

# The first interpreter that is new enough and not too new; `make PYTHON=/path/to/python` names another.
FITS := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c '$(FITS)' >/dev/null 2>&1 && echo $$p && break; done)

VENV := .venv
BIN := $(VENV)/bin
# A process for each core, at most four for the memory, each with whole files: tracing keeps one core busy.
PYTEST_ARGS ?= --numprocesses logical --maxprocesses 4 --dist loadfile
DEMO ?= examples/number_words.py --quick
# These packages import Keras only, so they run on every backend. JAX compiles each operation that a test runs eagerly, so
# `make test-jax` takes the files that have most to say; `make test-jax ON_JAX="tests/layers tests/models tests/search"` all.
ANY_BACKEND := tests/layers tests/models tests/search
ON_JAX ?= $(addprefix tests/layers/test_, keras_conventions.py attention.py attention_decoder.py multi_head_attention.py \
	luong_attention.py crf.py linear_chain.py transformer.py) tests/models/test_rnn_search.py \
	tests/models/test_transformer.py tests/search/test_beam.py tests/search/test_greedy.py tests/training/test_adam.py \
	tests/training/test_loss_scale.py
NIGHTLY := $(ANY_BACKEND) tests/training

.DEFAULT_GOAL := help
.PHONY: help check format test test-browser test-all test-jax test-nightly test-wheel release demo docs lock audit clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: $(VENV)/.dev ## style and likely bugs (ruff), nothing changed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev ## the same, and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: $(VENV)/.test ## the tests and the examples in the docstrings, on TensorFlow
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest -m "not slow and not browser" $(PYTEST_ARGS)

test-browser: $(VENV)/.browser ## pages in Chromium (Debian: chromium, chromium-driver, npm); screenshots go to build/
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest tests/playground tests/examples -m browser

test-all: $(VENV)/.test ## the exhaustive tests that `make test` leaves out
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest -m slow $(PYTEST_ARGS)

test-jax: $(VENV)/.test ## the main tests of layers, models, search and Adam again, on JAX
	KERAS_BACKEND=jax JAX_PLATFORMS=cpu $(BIN)/python -m pytest $(ON_JAX) -m "not slow" $(PYTEST_ARGS)

test-nightly: ## the tests of layers, models, search and training on tonight's Keras, in an environment of their own
	$(MAKE) VENV=.venv-nightly .venv-nightly/.nightly
	KERAS_BACKEND=tensorflow .venv-nightly/bin/python -m pytest $(NIGHTLY) -m "not slow" $(PYTEST_ARGS)

test-wheel: $(VENV)/.test ## build the wheel and test it outside of the clone, with the versions of constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python tools/release.py --only $$($(BIN)/python -c 'import sys; print("%d.%d-locked" % sys.version_info[:2])')

release: $(VENV)/.test ## sdist and wheel in dist/, tested on each Python that is here, with the newest and the oldest versions
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build uv
	$(BIN)/python tools/release.py

demo: $(VENV)/.demo ## translate with included models; train a small RNNsearch, score, export and draw it (2 minutes)
	KERAS_BACKEND=tensorflow $(BIN)/python examples/shipped.py
	KERAS_BACKEND=tensorflow $(BIN)/python $(DEMO)

docs: $(VENV)/.docs ## the documentation site in build/docs; tutorials run once (6 minutes), then only after a change
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -d build/doctrees docs build/docs
	@echo "open build/docs/index.html"

# The newest versions that the ranges in pyproject.toml allow, for each Python and system, with every extra.
lock: $(BIN)/python ## renew constraints.txt, the versions that all commands here install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade --quiet \
		--no-emit-index-url --no-annotate --custom-compile-command "make lock" --output-file constraints.txt

audit: $(VENV)/.test ## conflicts and known vulnerabilities in the locked packages; pip-audit asks the package index
	$(BIN)/python -m pip check
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	build/audit/bin/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip

clean: ## remove the environment and what tools left behind
	rm -rf $(VENV) .venv-nightly build dist *.egg-info .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c '$(FITS)' || \
		{ echo "keraszoo needs Python 3.11, 3.12 or 3.13; name one: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# keras-nightly has the same files as keras, so pip writes it over the Keras of the extra `test`.
$(VENV)/.nightly: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --pre --no-deps keras-nightly
	@touch $@

# .venv/.test stands for "installed with the extra `test`", and so on.
$(VENV)/.%: pyproject.toml setup.py constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$*]'
	@touch $@
