# Everything is installed in .venv, once: a stamp in .venv/installed records each set of extras, and
# only a change to pyproject.toml or constraints.txt makes it stale.

# Extras that the tests, checks and benchmarks need.
EXTRAS ?= plot,dask,io,deep,formula,cli,data

PYTEST_ARGS ?= -n 2
BENCH_ARGS ?=

# python3 where it is new enough, otherwise the newest python3.N on the path.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && { echo $$p; break; }; done)
NEW_ENOUGH = import sys; sys.exit(sys.version_info < (3, 11))

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

DEMO := .venv/installed/cli,data
TEST := .venv/installed/$(EXTRAS),test
# The test extras too, so that the type checker sees the same packages whatever ran before.
CHECK := .venv/installed/$(EXTRAS),test,check

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: demo test check docs results bench bench-smoke format clean help

demo: $(DEMO)  ## the Engel curve, from a table to demo/result/report.html
	$(BIN)/sagdiv datasets engel -o demo/engel.csv --replace
	$(BIN)/sagdiv fit demo/engel.csv "food ~ kids + [logexp ~ logincome]" -o demo/result --replace

test: $(TEST)  ## run the tests and the doctests (PYTEST_ARGS="-n 0 -k descent")
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(CHECK)  ## lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(TEST)  ## run the pages, and write what they print, their figures and the API reference
	$(BIN)/python docs/make_api.py
	$(BIN)/python docs/pages.py

results: $(TEST)  ## write tables and figures of the committed experiments (docs/experiments.md)
	$(BIN)/python experiments/publish.py

bench: $(TEST)  ## run the benchmarks (BENCH_ARGS=...)
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

bench-smoke: $(TEST)  ## run every benchmark at its smallest size
	$(BIN)/python -m benchmarks --quick $(BENCH_ARGS)

format: $(CHECK)  ## rewrite the files the way `make check` wants them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the environment, the caches and whatever was built
	rm -rf .venv build dist demo simulated.png .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

# Figures are drawn to files; one thread per process keeps numbers and timings steady under xdist.
demo test docs results bench bench-smoke: export MPLBACKEND := Agg
test docs: export OMP_NUM_THREADS := 1
test docs: export OPENBLAS_NUM_THREADS := 1
test docs: export MKL_NUM_THREADS := 1

.venv/installed/%: pyproject.toml constraints.txt .venv/created
	@echo "Installing sagdiv[$*] in .venv: a few minutes the first time."
	@$(PIP) install --quiet -c constraints.txt -e '.[$*]'
	@mkdir -p $(@D) && touch '$@'

.venv/created:
	@python='$(PYTHON)'; \
	if ! "$${python:-python3}" -c '$(NEW_ENOUGH)' 2>/dev/null; then \
	    echo "sagdiv needs Python 3.11 or newer, and $${python:-python3} is missing or older." \
	        "Install one, or name it: make PYTHON=python3.12 test" >&2; exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	    echo "$$python cannot create virtual environments: install its venv package" \
	        "(python3-venv on Debian and Ubuntu), or name another: make PYTHON=python3.12 test" >&2; \
	    exit 1; \
	fi; \
	"$$python" -m venv --clear .venv
	@touch $@
