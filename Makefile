# Millrace. `make help` lists what there is; every target does its own set-up first.

# A Python that runs and is new enough: a version manager's shim may exist for one that does not.
RUNS = $(shell $(1) -c 'import sys; sys.version_info >= (3, 11) and print("$(1)")' 2>/dev/null)
ifndef PYTHON
PYTHON := $(or $(call RUNS,.venv/bin/python),$(call RUNS,python3),$(call RUNS,python3.13),\
  $(call RUNS,python3.12),$(call RUNS,python3.11),python3)
endif
VENV := .venv/bin
BOOTSTRAP := $(PYTHON) -B docker/bootstrap
export PATH := $(CURDIR)/$(VENV):$(PATH)
export PYTHONUTF8 := 1

.DEFAULT_GOAL := help
.PHONY: help setup run test test-kafka check bench lock audit schema screenshots

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install and build everything; leaves .venv/bin/python
	@$(BOOTSTRAP) setup

run: setup ## Run the product with its demo on http://localhost:8000 (PORT=, REDIS_URL=)
	@exec $(VENV)/python -m backend.run

test: setup ## Run the tests: pytest (unit, api, runtime, oracle, browser), vitest, a short soak (ONLY= for one suite, ONLY=all)
	@$(BOOTSTRAP) browser
	@MILLRACE_CHROMIUM="$$(cat .venv/chromium)" $(VENV)/python -m tests $(ONLY)

check: setup ## Lint, types, and generated files up to date
	$(VENV)/ruff check .
	$(VENV)/ruff format --check --quiet .
	$(VENV)/mypy
	npx --no-install tsc --noEmit
	npx --no-install biome ci --error-on-warnings
	$(VENV)/python -m tests.generated --check

schema: setup ## Write the generated files anew: plan schema, OpenAPI document, TypeScript types
	$(VENV)/python -m tests.generated

test-kafka: setup ## Run the tests with a real Kafka broker (Maven fetches its jars once)
	@$(VENV)/python -m tests kafka

bench: setup ## Run the benchmarks (ONLY=linear3, SCALE=0.1, REPEAT=1); writes docs/lab/benchmarks.md
	@$(VENV)/python -m tests.bench $(if $(ONLY),--only $(ONLY)) $(if $(SCALE),--scale $(SCALE)) $(if $(REPEAT),--repeat $(REPEAT))

screenshots: setup ## Take every page, light and dark, wide and narrow, into docs/screenshots
	@$(BOOTSTRAP) browser
	@MILLRACE_CHROMIUM="$$(cat .venv/chromium)" $(VENV)/python -m tests.screenshots

lock: ## Resolve pyproject.toml anew into requirements.lock
	@$(BOOTSTRAP) lock

audit: setup ## Look the pinned packages up in the databases of known weaknesses (3: not reached)
	@$(BOOTSTRAP) audit
