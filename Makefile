# `make test` and `make demo` work in a fresh clone with nothing but Python: the first call makes .venv and installs into
# it, later calls install again only when pyproject.toml or setup.py changed.

# The first interpreter that is new enough and not too new; `make PYTHON=/path/to/python` names another.
FITS := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c '$(FITS)' >/dev/null 2>&1 && echo $$p && break; done)

VENV := .venv
BIN := $(VENV)/bin
# Two processes, each with whole files: most of a test's time is TensorFlow's tracing, which keeps one core busy.
PYTEST_ARGS ?= --numprocesses 2 --dist loadfile
DEMO ?= examples/number_words.py
# The rooms that know Keras alone, and so run on every backend of it.
ANY_BACKEND := $(wildcard $(foreach room,layers models search,tests/$(room) keraszoo/$(room)))

.DEFAULT_GOAL := help
.PHONY: help check format test test-jax demo clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: $(VENV)/.dev ## style and likely bugs (ruff), nothing changed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev ## the same, and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: $(VENV)/.test ## all tests and the examples in the docstrings, on TensorFlow
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest $(PYTEST_ARGS)

test-jax: $(VENV)/.test ## the tests of layers, models and search once more, on JAX
	KERAS_BACKEND=jax JAX_PLATFORMS=cpu $(BIN)/python -m pytest $(ANY_BACKEND) $(PYTEST_ARGS)

demo: $(VENV)/.demo ## translate with models that ship; train a small RNNsearch, score, export and draw it (5 minutes)
	KERAS_BACKEND=tensorflow $(BIN)/python examples/shipped.py
	KERAS_BACKEND=tensorflow $(BIN)/python $(DEMO)

clean: ## remove the environment and what tools left behind
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c '$(FITS)' || \
		{ echo "keraszoo needs Python 3.11, 3.12 or 3.13; name one: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# .venv/.test stands for "installed with the extra `test`", and so on.
$(VENV)/.%: pyproject.toml setup.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@
