# Everything starts from here. `make demo` and `make test` each build the environment they need.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# The data and checkpoints of the tests are local; nothing may ask a hub. One thread a process: tiny models.
QUIET  := HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false

.PHONY: help install demo test test-slow check format bench clean

help:
	@echo "make demo       three small checkpoints on five toy tasks, fanned out with Ray Tune; prints the tables"
	@echo "make test       the tests, without the slow ones"
	@echo "make test-slow  the slow tests"
	@echo "make check      ruff, mypy and the layer contract"
	@echo "make format     let ruff put the code in shape"
	@echo "make bench      the cheap speed figures (benchmarks/README.md lists all)"
	@echo "make clean      remove what the commands above made"

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "harness needs Python >= 3.11; say which with PYTHON=python3.12"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

demo: install
	HF_HUB_OFFLINE=1 $(BIN)/harness demo --study results/demo

test: install
	$(QUIET) $(BIN)/python -m pytest -n 2 -m "not slow and not network and not gpu"

test-slow: install
	$(QUIET) $(BIN)/python -m pytest -m "slow and not network and not gpu"

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install
	$(BIN)/python benchmarks/fanout.py

clean:
	rm -rf $(VENV) build dist results/demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
