# Every target sets up what it needs, in .venv; a second run reuses it. `make help` lists them.
# PYTHON=/path/to/python3.12 chooses the Python of a new .venv; UPGRADE=--upgrade makes `make lock`
# take the newest versions within the bounds of pyproject.toml.

VENV := .venv
DEMO := demo
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
SIDE_BY_SIDE := -n 2 --dist loadfile
UV := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command "make lock" --quiet $(UPGRADE)

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-slow-together test-slow-alone test-faults \
	bench format check lock clean

help:  ## list the targets
	@sed -nE "s/^([a-z-]+):.*## (.*)/  make \1\t\2/p" $(MAKEFILE_LIST) | expand -t 20

demo: $(VENV)/$(DEMO)  ## run the service here, with one person's life; DEMO=serve without torch
	$(BIN)/seedmem demo

test: $(VENV)/test  ## run the tests, against real Kafka and Redis
	$(PYTEST) -m "not slow" $(SIDE_BY_SIDE)

test-slow: test-slow-together test-slow-alone  ## run the tests that need minutes

test-slow-together: $(VENV)/test
	$(PYTEST) -m "slow and not alone" $(SIDE_BY_SIDE)

test-slow-alone: $(VENV)/test  # they compare times
	$(PYTEST) -m "slow and alone"

test-faults: $(VENV)/test  ## break brokers, Redis and workers, and report; PART=f08 for one case
	$(PYTEST) tests/faults -k "$(PART)"

bench: $(VENV)/test  ## measure speed and size, PART=query for one part; takes an hour
	$(BIN)/python -m benchmarks $(PART) --json bench.json --chart docs/benchmarks

format: $(VENV)/test  ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: $(VENV)/test  ## all that CI checks: format, lint, types, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

lock: $(VENV)/test  ## bring the lock files in line with pyproject.toml
	$(UV) requirements/uv.in -o requirements/uv.txt
	$(UV) requirements/build.in -o requirements/build.txt
	$(UV) pyproject.toml --all-extras -o requirements/test.txt
	$(UV) pyproject.toml --extra local --extra extract --constraint requirements/test.txt \
		-o requirements/serve.txt
	$(UV) pyproject.toml --extra local --extra extract --extra learn \
		--constraint requirements/test.txt -o requirements/demo.txt
	$(UV) pyproject.toml --extra extract --extra tracing --constraint requirements/test.txt \
		-o requirements/image.txt

clean:  ## remove the virtual environment and every cache
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/serve: requirements/serve.txt pyproject.toml scripts/setup
	scripts/setup serve $(VENV)
	touch $@

$(VENV)/demo: requirements/demo.txt pyproject.toml scripts/setup
	scripts/setup demo $(VENV)
	touch $@ $(VENV)/serve

$(VENV)/test: requirements/test.txt pyproject.toml scripts/setup
	scripts/setup test $(VENV)
	touch $@ $(VENV)/demo $(VENV)/serve
