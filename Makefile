# Every target makes and reuses its own virtual environment. PYTHON chooses the interpreter.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install -q --disable-pip-version-check
SOURCES = $(shell find sstruct -name '*.pyx' -o -name '*.pxd' -o -name '*.h')
# Two processes: the tests take 12 minutes of one core.
PYTEST_ARGS ?= -n 2

.PHONY: help build ext demo test test-fast test-debug fuzz lint bench doc wheel annotate clean
help:
	@echo "make demo       train a model on dates of handwritten digits and draw what it reads"
	@echo "make test       all tests (PYTEST_ARGS=... in place of -n 2); test-fast leaves out the slow ones"
	@echo "make test-debug the tests on a build with bounds checks"
	@echo "make fuzz SECONDS=600  attacks everything with hostile values, files and models"
	@echo "make build      compile what has changed, in place;  make ext PYX=path  one file alone"
	@echo "make annotate PYX=path  shows what Cython made of one file"
	@echo "make lint doc bench wheel clean"

# Compiling needs neither NumPy nor the others: they are installed meanwhile.
build:
	@$(MAKE) -j 2 $(VENV)/.built $(VENV)/.installed

$(VENV)/.tools:
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile "setuptools>=77" "Cython>=3.1"
	touch $@

$(VENV)/.built: $(VENV)/.tools setup.py $(SOURCES)
	$(BIN)/python setup.py -q build_ext --inplace
	touch $@

# Without extensions (SSTRUCT_PYX=): pip would build them anew each time. --no-compile: Python
# compiles what is imported, and all of SciPy beforehand takes longer than the demo.
INSTALL = SSTRUCT_PYX= $(PIP) --no-compile --no-build-isolation -e

$(VENV)/.installed: $(VENV)/.tools pyproject.toml
	$(INSTALL) ".[plot]"
	touch $@

# Extras, each installed when the first target asks for it.
$(VENV)/.extra-%: $(VENV)/.installed
	$(INSTALL) ".[$*]"
	touch $@

ext: $(VENV)/.tools
	SSTRUCT_PYX=$(PYX) $(BIN)/python setup.py -q build_ext --inplace

demo: build
	$(BIN)/python examples/demo.py

test: build $(VENV)/.extra-test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-fast: build $(VENV)/.extra-test
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_ARGS)

# A debug build is installed, not editable, so that the two builds never mix.
test-debug:
	test -x .venv-debug/bin/python || $(PYTHON) -m venv .venv-debug
	.venv-debug/bin/python -m pip install -q --upgrade pip
	SSTRUCT_DEBUG=1 .venv-debug/bin/python -m pip install -q ".[test]"
	cd tests && ../.venv-debug/bin/python -P -m pytest -m "not slow" --rootdir=.. -c ../pyproject.toml . $(PYTEST_ARGS)

# SEED=... repeats a run; what it prints of a finding names the command that repeats one case.
SECONDS ?= 60
fuzz: build $(VENV)/.extra-test
	$(BIN)/python -m tests.hostile --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

lint: build $(VENV)/.extra-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint sstruct
	$(BIN)/codespell .
	$(BIN)/mypy

bench: build $(VENV)/.extra-benchmarks
	$(BIN)/python benchmarks/chain_convergence.py

doc: build $(VENV)/.extra-docs
	$(BIN)/python -m sphinx -W --keep-going -b html doc doc/_build/html

wheel: $(VENV)/.tools
	rm -rf build/release
	$(BIN)/python -m pip wheel -q --no-deps --no-build-isolation -w dist .

annotate: $(VENV)/.tools
	$(BIN)/cython -a -3 $(PYX)

clean:
	rm -rf build dist *.egg-info demo_output .pytest_cache .hypothesis .ruff_cache doc/_build
	find sstruct '(' -name '*.so' -o -name '*.c' ')' -delete
	find sstruct -name '__pycache__' -prune -exec rm -rf {} +
	rm -f $(VENV)/.built
