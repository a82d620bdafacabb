# `make` alone prints what there is.

BIN := .venv/bin
INSTALLED := .venv/.installed
# Another interpreter: make install PYTHON=...
PYTHON ?= $(shell python3.11 -c '' 2>/dev/null && echo python3.11 || echo python3)
# What `make dev` serves: module:attribute
APP ?=
# Which stored runs `make histories` plays; all if left out
NAMES ?=

# What Python has compiled it keeps: tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install demo demo-support demo-desk demo-coder dev quick test lint check histories bench lock clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

install: $(INSTALLED) ## install into .venv/ what requirements.lock pins, and the command holdfast

demo: $(INSTALLED) ## a supervised agent, from start to answer, without keys or accounts
	@$(BIN)/python -m examples.reconcile.demo

demo-support: $(INSTALLED) ## a refund that only a signed approval releases, without accounts
	@$(BIN)/python -m examples.support.demo

demo-desk: $(INSTALLED) ## four agents in one talk: sub-agents, handoffs, two people who decide
	@$(BIN)/python -m examples.desk.demo

demo-coder: $(INSTALLED) ## an agent that mends a failing test, in the sandbox: bubblewrap needed
	@$(BIN)/python -m examples.coder.demo

dev: $(INSTALLED) ## embedded Temporal with its UI, and a worker: make dev APP=module:attribute
	@$(BIN)/holdfast dev $(APP)

quick: $(INSTALLED) ## the tests that need no server and no time: most rules, in about a minute
	$(BIN)/pytest --numprocesses 2 --dist worksteal --durations 3 --durations-min 1 \
		-m 'not (server or wire or recorded or slow)'

test: $(INSTALLED) ## every test
	$(BIN)/pytest --numprocesses auto --dist worksteal

lint: $(INSTALLED) ## format, rules, types, import floors; changes nothing
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo

check: lint test ## lint and test, as CI does

histories: $(INSTALLED) ## play the stored runs anew, on purpose: make histories NAMES='drafts undo'
	@$(BIN)/python -m tests.histories.renew $(NAMES)

bench: $(INSTALLED) ## measure history bytes, time and CPU per step
	@$(BIN)/python -m bench

lock: ## take the newest versions of everything into both lock files
	@$(check_python)
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/pip install -qq --disable-pip-version-check -e .
	@$(call freeze,What the image of a worker holds) > deploy/requirements.lock
	build/lock/bin/pip install -qq --disable-pip-version-check -e '.[local,dev]'
	@$(call freeze,What `make install` installs) > requirements.lock

clean: ## remove everything that make made
	rm -rf .venv build .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): requirements.lock
	@$(check_python)
	@echo 'Installing into .venv/, which takes about a minute.'
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/pip install -qq --disable-pip-version-check --no-deps -r requirements.lock
	@$(BIN)/pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

define check_python
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	{ echo 'Holdfast needs Python 3.11 or newer: install it, or name it with PYTHON=...' >&2; exit 1; }; \
$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	{ echo '$(PYTHON) lacks the venv module: install it (Debian: apt-get install python3-venv)' >&2; exit 1; }
endef

define freeze
{ echo '# $(1), every version pinned. Renew it with `make lock`.'; \
	build/lock/bin/pip freeze --exclude-editable; }
endef
