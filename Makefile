# Every target makes its own virtual environment from pyproject.toml first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
JOBS ?= $(shell $(PYTHON) -c "import os; print(os.cpu_count() or 1)")

.PHONY: help demo check test torture lint format bench docs reproduction clean

help:
	@echo "make demo    fit, tune and report on data that ships with scikit-learn"
	@echo "make test    lint, types and all tests"
	@echo "make torture  cases that are meant to break it (hours; continues where it was stopped)"
	@echo "make check   lint and the quick tests, in less than 90 seconds"
	@echo "make lint    ruff, mypy and import-linter alone"
	@echo "make format  let ruff rewrite the code"
	@echo "make bench   speed and memory, as ratios measured side by side"
	@echo "make docs    the documentation, into docs/_build/html"
	@echo "make reproduction  the paper's figures and tables, into docs (minutes; needs the data sets)"

$(VENV)/.python:
	$(PYTHON) -c "import sys; assert sys.version_info >= (3, 11), 'negcorr needs Python 3.11 or newer'"
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade pip
	@touch $@

$(VENV)/.demo: $(VENV)/.python pyproject.toml constraints.txt
	$(PIP) install --quiet --constraint constraints.txt --editable ".[cli,plot]"
	@touch $@

$(VENV)/.test: $(VENV)/.python pyproject.toml constraints.txt
	$(PIP) install --quiet --constraint constraints.txt --editable ".[plot,test]"
	@touch $@

$(VENV)/.docs: $(VENV)/.python pyproject.toml constraints.txt
	$(PIP) install --quiet --constraint constraints.txt --editable ".[plot,docs]"
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/negcorr demo --out demo-output

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The daily round: the rooms that decide numbers, but for their slow tests.
CHECKED := $(addprefix tests/, test_package.py _common rows columns bases moments spectrum criteria path ensemble diversity)
SLOW := $(addprefix --ignore=tests/ensemble/, test_coverage.py test_estimator_checks.py test_huber.py \
	test_other_machines.py)

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(CHECKED) $(SLOW)

test: lint
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests/array_api

# What a stopped run has found stays in build/torture.jsonl; remove it to begin again.
torture: $(VENV)/.test
	$(BIN)/python tests/hostile/torture.py --jobs $(JOBS) --out build/torture.jsonl --page docs/hostile.md

bench: $(VENV)/.test
	$(BIN)/python benchmarks/speed/core.py --out benchmarks/results
	$(BIN)/python benchmarks/speed/dof.py --out benchmarks/results
	$(BIN)/python benchmarks/accuracy/calibration.py --out benchmarks/results
	$(BIN)/python benchmarks/speed/deep.py --out benchmarks/results
	$(BIN)/python benchmarks/scale/scale.py --out benchmarks/results
	$(BIN)/python docs/benchmark_pages/scale_page.py --from benchmarks/results/scale.json --page docs/scale.md

# Every figure and table, into the documentation; NEGCORR_DATA names the folder with the data sets.
# Figures 7 and 8 are drawn from docs/tables, computed on a GPU by
# negcorr reproduce figure7 figure8 --device cuda
reproduction: $(VENV)/.test
	$(BIN)/negcorr reproduce all --tables docs/tables --out build/reproduction
	mkdir -p docs/figures
	cp build/reproduction/reproduction.md docs/reproduction.md
	cp build/reproduction/figures/*.svg docs/figures/

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf $(VENV) docs/_build docs/auto_examples docs/api/generated docs/sg_execution_times.rst demo-output build dist
