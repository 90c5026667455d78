# Every target sets up .venv: with uv if it is installed, otherwise with venv and pip.
#   make test ARGS="-k chain"     passes arguments on
#   make test PYTHON=python3.12   chooses the interpreter of a new .venv

BIN := .venv/bin
STAMP := .venv/.installed
PEERS := .venv/.peers
SITE := .venv/.site

# The first interpreter that starts (a shim on PATH may not), is new enough and can make environments.
usable = $(shell $(1) -c 'import sys, ensurepip, venv; sys.version_info >= (3, 11) and print(sys.executable)' 2>/dev/null)
PYTHON ?= $(or $(call usable,python3),$(call usable,python3.13),$(call usable,python3.12),$(call usable,python3.11),$(call usable,python))

# Real data next to the checkout, unless MAXMARGIN_DATA names another folder.
DATA := $(or $(MAXMARGIN_DATA),$(realpath ../shared/data))
ifneq ($(DATA),)
test quick coverage bench: export MAXMARGIN_DATA := $(DATA)
endif

.PHONY: help demo test quick coverage oldest lint docs dist bench bench-quick clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST)

demo: $(STAMP) ## train, predict and plot in seconds
	$(BIN)/python examples/demo.py $(ARGS)

test: $(STAMP) ## run the tests, warnings as errors
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

# Two instances of each structure and at most three cases of each test; none that is marked slow.
quick: $(STAMP) ## run a part of the tests, in less than 90 seconds on two cores once functions are compiled
	MAXMARGIN_CASES=2 $(BIN)/python -m pytest -n auto --dist worksteal --quick $(ARGS)

# Data of earlier runs are erased. Line by line: htmlcov/index.html.
coverage: $(STAMP) ## run the tests and list the share of statements that they run, by room
	$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=html $(ARGS)
	$(BIN)/python -m tests.coverage_by_room

# Old versions may use features that others have deprecated since, so warnings are not errors here.
oldest: .venv-oldest/.installed ## run the tests with the oldest dependencies that are allowed (Python 3.11 or 3.12)
	.venv-oldest/bin/python -m pytest -n auto --dist worksteal -W default $(ARGS)

lint: $(STAMP) ## check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Links, search and pictures are tested in Chromium, if it is installed.
docs: $(SITE) ## build the site, build/site/html/index.html, and test its pages
	$(BIN)/python docs/site/build.py $(ARGS)
	$(BIN)/python -m pytest tests/site

# The wheel has the package and its tables only, and can be installed and imported without extras.
dist: $(STAMP) ## build the wheel and the source distribution, and check both in a new environment
	$(BIN)/python -m tests.check_distribution

bench: $(PEERS) ## run the benchmarks, side by side with other packages
	$(BIN)/python -m benchmarks $(ARGS)

# Ratios alone, which a busy machine hardly changes; the site draws benchmarks/results/history.jsonl.
bench-quick: $(STAMP) ## measure speed in two minutes and append it to the history
	$(BIN)/python -m benchmarks.quick

clean: ## remove everything that make, tests and builds have written, including .venv
	rm -rf .venv .venv-oldest build dist demo-output htmlcov .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv-oldest/.installed: pyproject.toml
	rm -rf .venv-oldest && '$(PYTHON)' -m venv .venv-oldest
	.venv-oldest/bin/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	groups = [p["dependencies"], *p["optional-dependencies"].values()]; \
	print(*(r.replace(">=", "==") for group in groups for r in group if ">=" in r), sep="\n")' > .venv-oldest/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet 'pip>=25.1'
	.venv-oldest/bin/python -m pip install --quiet --editable '.[all]' --group dev --constraint .venv-oldest/oldest.txt
	@touch $@

ifneq ($(shell uv pip install --help 2>/dev/null | grep -e --group),)
$(STAMP): pyproject.toml
	$(BIN)/python -c '' 2>/dev/null || { rm -rf .venv && uv venv --quiet --python '$(or $(PYTHON),>=3.11)' .venv; }
	uv pip install --quiet --python $(BIN)/python --editable '.[all]' --group dev
	@touch $@

$(SITE): $(STAMP)
	uv pip install --quiet --python $(BIN)/python --group docs
	@touch $@

$(PEERS): $(STAMP)
	uv pip install --quiet --python $(BIN)/python --group bench
	-uv pip install --quiet --python $(BIN)/python --group bench-dlib
	@touch $@
else
# Dependency groups need pip 25.1.
$(STAMP): pyproject.toml
	@test -n '$(PYTHON)' || { echo 'No Python >= 3.11 with venv found: install one, or uv, or set PYTHON=' >&2; exit 1; }
	$(BIN)/python -m pip --version >/dev/null 2>&1 || { rm -rf .venv && '$(PYTHON)' -m venv .venv; }
	$(BIN)/python -m pip install --quiet 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	@touch $@

$(SITE): $(STAMP)
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

$(PEERS): $(STAMP)
	$(BIN)/python -m pip install --quiet --group bench
	-$(BIN)/python -m pip install --quiet --group bench-dlib
	@touch $@
endif
