# Everything runs in .venv, which `make setup` builds from hashed locks.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCKS := requirements/dev.txt requirements/pictures.txt
STAMP := $(VENV)/.ready
PROJECTS := . packs/detector

.DEFAULT_GOAL := help
.PHONY: help setup postgresql demo test check bench docs lock format clean

help:
	@echo "make setup   build .venv from the locks"
	@echo "make demo    the whole path on a real model and real pictures"
	@echo "make test    every test"
	@echo "make check   format, lint, types, import contracts, generated files"
	@echo "make bench   side by side with the alternatives; writes bench/results/"
	@echo "make docs    write the generated reference"
	@echo "make lock    resolve the locks again"

setup: $(STAMP) postgresql

# The records' tests on PostgreSQL, and those with several servers, are skipped where it is missing.
postgresql:
	@if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "==> installing postgresql-15"; \
		{ apt-get update && apt-get install --yes --no-install-recommends postgresql-15; } >/dev/null \
			|| echo "PostgreSQL could not be installed: its tests are skipped"; \
	else echo "PostgreSQL is not installed: its tests are skipped (as root: apt-get install postgresql-15)"; fi

$(STAMP): $(LOCKS) pyproject.toml packs/detector/pyproject.toml
	@echo "==> setting up $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/pictures.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation $(foreach p,$(PROJECTS),-e $(p))
	@touch $@

demo: setup
	$(BIN)/python demo/run.py

test: setup
	$(BIN)/python tests/run.py

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python docs/generate.py --check

bench: setup
	$(PYTHON) bench/setup_peers.py
	$(BIN)/python -m bench

docs: setup
	$(BIN)/python docs/generate.py

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock:
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		pyproject.toml packs/detector/pyproject.toml --extra server --extra weights --group dev --no-emit-package roost -o requirements/dev.txt

clean:
	rm -rf $(VENV) demo/out bench/.envs
