# Everything runs in an environment of the project's own; setting up twice costs nothing the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CAN_RUN := $(VENV)/.can-run
WORKERS ?= 2
# Bytecode of our own files is kept, as pip keeps it for those who install them: tests start hundreds
# of processes.
unexport PYTHONDONTWRITEBYTECODE
FAST := tests/architecture tests/exact tests/properties tests/unit/estimate tests/unit/worlds tests/unit/study

.PHONY: setup test test-fast lint types imports pytest calibrate bench audit docs dist clean
setup: $(READY)

$(READY): pyproject.toml constraints.txt tools/setup.sh
	@PYTHON="$(PYTHON)" sh tools/setup.sh $(VENV) dev
	@touch $(READY) $(CAN_RUN)

# The main job needs no test tools: a first run should not wait for them.
$(CAN_RUN): pyproject.toml constraints.txt tools/setup.sh
	@PYTHON="$(PYTHON)" sh tools/setup.sh $(VENV) run
	@touch $(CAN_RUN)

# What needs no tests runs side by side, and the tests once it is done: some of them measure time.
MAKEFLAGS += -j2
test: lint types imports docs pytest
ifneq (,$(filter test,$(MAKECMDGOALS)))
pytest: | lint types imports docs
endif

# Under a minute once set up: lint, and tests that need no server, model, database or browser. What it
# leaves out is in `make test`.
test-fast: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pytest -n $(WORKERS) -q -m "not slow" --ignore tests/architecture/test_one_file.py $(FAST)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy
	$(BIN)/basedpyright -p tests/typing

imports: $(READY)
	$(BIN)/lint-imports --no-cache

pytest: $(READY)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow"

# The full calibrations and fault campaigns; `make test` runs their short seeded forms. The tables of
# error rates come last: how often intervals and gates are wrong, and what the answer says.
calibrate: $(READY)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m slow --timeout 3600
	$(BIN)/python tests/calibration/error_rates.py
	$(BIN)/python tests/calibration/answer_rates.py --write

# Other tools are measured too; the bench installs each in an environment of its own.
bench: $(READY)
	$(BIN)/python -m benchmarks

# The main job: a real audit with the embedded model, from study to report.
audit: $(CAN_RUN)
	$(BIN)/judgelaw audit examples/quickstart/study.yaml

# What a release uploads: a wheel and an archive of the source, built from what is committed. The
# project's URLs start from REPOSITORY=https://..., the address of the repository.
dist: $(READY)
	rm -rf dist
	REPOSITORY="$(REPOSITORY)" $(BIN)/python -m build --no-isolation -o dist .

docs: $(READY)
	$(BIN)/sphinx-build -W -q docs docs/_build/html

clean:
	rm -rf $(VENV) .venv-peers dist docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis
