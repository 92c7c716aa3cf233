# Every target makes and reuses its own virtual environment. PYTHON chooses the interpreter.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
COMPILED = $(shell find sstruct -name '*.pyx' -o -name '*.pxd' -o -name '*.h')
# Two processes: the tests take 12 minutes of one core.
PYTEST_ARGS ?= -n 2

.PHONY: help build demo test test-fast test-debug lint bench doc annotate clean
help:
	@echo "make demo       train a model on dates of handwritten digits and draw what it reads"
	@echo "make test       all tests (PYTEST_ARGS=... in place of -n 2); test-fast leaves out the slow ones"
	@echo "make test-debug the tests on a build with bounds checks"
	@echo "make build      compile in place;  make annotate PYX=path  shows what Cython made of one file"
	@echo "make lint doc bench clean"

build: $(VENV)/.built

# Requirements change seldom, sources often: two stamps.
$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q "setuptools>=77" "Cython>=3.1"
	touch $@

$(VENV)/.built: $(VENV)/.installed setup.py $(COMPILED)
	$(BIN)/python -m pip install -q --no-build-isolation -e ".[test,lint]"
	touch $@

demo: build
	$(BIN)/python examples/demo.py

test: build
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-fast: build
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_ARGS)

# A debug build is installed, not editable, so that the two builds never mix.
test-debug:
	test -x .venv-debug/bin/python || $(PYTHON) -m venv .venv-debug
	.venv-debug/bin/python -m pip install -q --upgrade pip
	SSTRUCT_DEBUG=1 .venv-debug/bin/python -m pip install -q ".[test]"
	cd tests && ../.venv-debug/bin/python -P -m pytest -m "not slow" --rootdir=.. -c ../pyproject.toml . $(PYTEST_ARGS)

lint: $(VENV)/.built
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint sstruct

bench: build
	$(BIN)/python -m pip install -q -e ".[benchmarks]" --no-build-isolation
	$(BIN)/python benchmarks/chain_convergence.py

doc: build
	$(BIN)/python -m pip install -q --no-build-isolation -e ".[docs]"
	$(BIN)/python -m sphinx -W --keep-going -b html doc doc/_build/html

annotate: build
	$(BIN)/cython -a -3 $(PYX)

clean:
	rm -rf build dist *.egg-info demo_output .pytest_cache .hypothesis .ruff_cache doc/_build
	find sstruct -name '*.so' -delete -o -name '*.c' -delete -o -name '__pycache__' -prune -exec rm -rf {} +
