# Everything goes through one virtual environment, filled from hash-pinned lock files and nothing else.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
EXTRAS ?= local
STATE  ?= var
PIP    := $(BIN)/python -m pip --disable-pip-version-check

# Four on two cores: much of the tests' time is waiting. With three `make test` took 350 s, with four 290.
SUITE_PROCESSES ?= 4
PYTEST   := $(BIN)/python -m pytest -q
PARALLEL := $(PYTEST) -n $(SUITE_PROCESSES) --dist loadgroup
SUITE    := not system and not soak
# What fails is run once more by itself, in a new process, and both outcomes stay in the record: with real processes on two
# cores a bounded wait may run out, and times are taken of code that shares its caches. What fails twice ends the run.
AGAIN    := || $(PYTEST) --last-failed --last-failed-no-failures none -m "$(SUITE)"
# Coverage is measured in the tests' own process, so the flows that are measured beside the unit tests are those that drive
# an interface over sockets. The floor is the figure of 2026-11-22 (93 %), less what differs from machine to machine.
COVERAGE_FLOOR := 91
MEASURED := $(addprefix tests/flows/test_,any_backend.py background.py compaction.py conversations.py websocket.py)

# Compiled files are kept, whatever the environment says: without them each of the tests' hundreds of processes compiles
# what it imports (a collection of the tests takes 17 s of CPU instead of 10, a start of the gateway 1.9 s instead of 0.7).
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test test-fast test-system check coverage bench bench-peers shape clean lock install
.PHONY: install-service uninstall-service upgrade rollback deb

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

install: $(VENV)/.installed-$(EXTRAS)  ## the virtual environment with EXTRAS (local; or empty, or e.g. web,llm)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14) and "gateway needs Python 3.11, 3.12 or 3.13 (make PYTHON=…), this is " + sys.version)'
	$(PYTHON) -m venv $(VENV)

# One stamp a set. A set is a comma-separated list of extras; each has a lock that holds its whole closure.
$(VENV)/.installed-%: $(wildcard requirements/*.txt) setup.cfg | $(BIN)/python
	@PIP="$(PIP)" sh .ci/install "$*"
	@touch $@

# An empty EXTRAS is the core.
$(VENV)/.installed-: $(VENV)/.installed-core
	@touch $@

run: install  ## fresh machine to a running server on 127.0.0.1:8080 (EXTRAS= for the core alone; CONFIG=, PORT=, OPS_PORT=, UPSTREAM=, UPSTREAM_MODEL=)
	@$(if $(PORT),GATEWAY_PORT=$(PORT)) $(if $(OPS_PORT),GATEWAY_OPS_PORT=$(OPS_PORT)) \
		$(BIN)/gateway serve --state-dir $(STATE) $(if $(CONFIG),--config $(CONFIG)) \
		$(if $(UPSTREAM),--upstream '$(UPSTREAM)') $(if $(UPSTREAM_MODEL),--upstream-model '$(UPSTREAM_MODEL)')

test: $(VENV)/.installed-dev  ## unit tests and flows, real engines included (TESTARGS: only these tests)
ifdef TESTARGS
	$(PYTEST) -m "$(SUITE)" $(TESTARGS)
else
	$(PARALLEL) -m "$(SUITE)" tests/flows tests/unit $(AGAIN) tests/flows tests/unit
endif

test-fast: $(VENV)/.installed-dev  ## the tests without what waits, measures or tries all: about a minute on two cores
	$(PARALLEL) -m "$(SUITE) and not slow" $(or $(TESTARGS),tests/unit tests/flows)

test-system: $(VENV)/.installed-dev  ## tests that need npm, a browser, PostgreSQL or systemd; each is skipped without it
	$(PYTEST) -m "system and not soak" $(TESTARGS)

check: $(VENV)/.installed-dev  ## format, lint, types, contract tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(PARALLEL) -m "$(SUITE) and not alone" tests/contract $(AGAIN) tests/contract
	$(PYTEST) -m "$(SUITE) and alone" tests/contract $(AGAIN) tests/contract

coverage: $(VENV)/.installed-dev  ## how much of gateway/ the unit tests and some flows reach: with tracing, twice their time
	$(PARALLEL) -m "$(SUITE)" --cov=gateway --cov-report= tests/unit $(MEASURED)
	$(BIN)/python -m coverage report --skip-covered --sort=cover --fail-under=$(COVERAGE_FLOOR)

# The service has a release folder and a virtual environment of its own. What PYTHON and EXTRAS do not say stays as it is in
# service; the first time it is python3 with the extras `core,web`.
given = $(if $(filter command line environment,$(origin $(1))),$(1)="$($(1))")
SERVICE = $(call given,PYTHON) $(call given,EXTRAS) sh systemd/service

install-service:  ## root: install and start the systemd service (docs/operations.md)
	@$(SERVICE) install

upgrade:  ## root: put this checkout in service without a pause; goes back by itself if it is not ready in 60 s
	@$(SERVICE) upgrade

rollback:  ## root: put the release before in service again
	@$(SERVICE) rollback

uninstall-service:  ## root: stop and remove the service; PURGE=1: its configuration and state too
	@$(SERVICE) uninstall

deb:  ## root: a Debian package of this checkout for this machine's Python
	@$(SERVICE) deb

bench: $(VENV)/.installed-dev  ## side-by-side measurements; prints ratios
	$(BIN)/python -m bench

bench-peers: $(VENV)/.installed-dev  ## the gateway beside nginx, LiteLLM, the MCP SDK and FastMCP in one run (WITH=envoy,agentic-api,smg adds these)
	$(BIN)/python -m bench.peers $(if $(WITH),--with $(WITH)) --svg docs/pictures/peers.svg

shape: $(VENV)/.installed-dev  ## where files may be folded or cut: single importers, short files, long functions, the largest
	$(BIN)/python -m bench.shape

clean:  ## remove what make made
	rm -rf $(VENV) .venv-* .node-clients build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .coverage

lock: $(BIN)/python  ## maintainers: resolve the lock files anew
	@PIP="$(PIP)" BIN="$(BIN)" sh .ci/lock
