# Everything runs in an environment of the project's own; setting up twice costs nothing the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CAN_RUN := $(VENV)/.can-run
WORKERS ?= 2

.PHONY: setup test lint types imports pytest calibrate bench audit docs clean
setup: $(READY)

$(READY): pyproject.toml constraints.txt tools/setup.sh
	@PYTHON="$(PYTHON)" sh tools/setup.sh $(VENV) dev
	@touch $(READY) $(CAN_RUN)

# The main job needs no test tools: a first run should not wait for them.
$(CAN_RUN): pyproject.toml constraints.txt tools/setup.sh
	@PYTHON="$(PYTHON)" sh tools/setup.sh $(VENV) run
	@touch $(CAN_RUN)

test: lint types imports docs pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports --no-cache

pytest: $(READY)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow"

# The full calibrations and fault campaigns; `make test` runs their short seeded forms.
calibrate: $(READY)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m slow --timeout 3600

# PEERS=1 measures other tools too, in an environment of their own.
PEERS_VENV := .venv-peers
bench: $(READY)
ifeq ($(PEERS),1)
	@[ -x $(PEERS_VENV)/bin/python ] || $(PYTHON) -m venv $(PEERS_VENV)
	$(PEERS_VENV)/bin/python -m pip install -q -c constraints.txt -e '.[dev]' arch inspect-ai
	$(PEERS_VENV)/bin/python -m benchmarks
else
	$(BIN)/python -m benchmarks
endif

# The main job: a real audit with the embedded model, from study to report.
audit: $(CAN_RUN)
	$(BIN)/judgelaw audit examples/quickstart/study.yaml

docs: $(READY)
	$(BIN)/sphinx-build -W -q docs docs/_build/html

clean:
	rm -rf $(VENV) dist docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis
