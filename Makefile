# The targets create and reuse a virtual environment. PYTHON selects the interpreter.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install -q --disable-pip-version-check
SOURCES = $(shell find sstruct -name '*.pyx' -o -name '*.pxd' -o -name '*.h')
PYTEST_ARGS ?= -n 2 --dist worksteal
# Python caches compiled modules, even if the environment says otherwise: tests start a hundred
# processes, each of which would compile all of scikit-learn first, which takes two seconds.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help build ext demo test test-slow test-oldest test-debug test-asan test-tsan fuzz lint bench doc wheel annotate clean
help:
	@echo "make demo       trains a model on dates of handwritten digits and draws its predictions"
	@echo "make test       runs all tests except slow ones (PYTEST_ARGS replaces -n 2); test-slow runs those"
	@echo "make test-oldest  runs the tests with the oldest dependencies of pyproject.toml"
	@echo "make test-debug runs the tests on a build with bounds checks"
	@echo "make test-asan  tests compiled code with AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make test-tsan  tests passes in threads with ThreadSanitizer"
	@echo "make fuzz SECONDS=600  calls everything with hostile values, files and models"
	@echo "make build      compiles changed files in place;  make ext PYX=path  compiles one file"
	@echo "make annotate PYX=path  writes annotated HTML of the C code of one file"
	@echo "make lint doc bench wheel clean"

# Compilation does not require NumPy or other packages, which are installed at the same time.
build:
	@$(MAKE) -j 2 $(VENV)/.built $(VENV)/.installed

$(VENV)/.tools:
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile "setuptools>=77.0.1" "Cython>=3.2"
	touch $@

$(VENV)/.built: $(VENV)/.tools setup.py $(SOURCES)
	$(BIN)/python setup.py -q build_ext --inplace
	touch $@

# SSTRUCT_PYX= excludes the extensions, which pip would recompile each time. --no-compile: Python
# compiles modules when they are imported; compiling all of SciPy takes longer than the demo.
INSTALL = SSTRUCT_PYX= $(PIP) --no-compile --no-build-isolation -e

$(VENV)/.installed: $(VENV)/.tools pyproject.toml
	$(INSTALL) ".[plot]"
	touch $@

# Extras are installed when a target requires them for the first time.
$(VENV)/.extra-%: $(VENV)/.installed
	$(INSTALL) ".[$*]"
	touch $@

ext: $(VENV)/.tools
	SSTRUCT_PYX=$(PYX) $(BIN)/python setup.py -q build_ext --inplace

demo: build
	$(BIN)/python examples/demo.py

test: build $(VENV)/.extra-test
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_ARGS)

test-slow: build $(VENV)/.extra-test
	$(BIN)/python -m pytest -m slow $(PYTEST_ARGS)

# Uses the extensions in place with other packages. NumPy 1.26 requires Python 3.11 or 3.12. Old
# packages use deprecated features of newer dependencies.
test-oldest: build/oldest.txt
	PIP_CONSTRAINT=$(CURDIR)/$< $(MAKE) test VENV=.venv-oldest \
	  PYTEST_ARGS="$(PYTEST_ARGS) -W ignore::DeprecationWarning"

build/oldest.txt: pyproject.toml tests/oldest_versions.py
	mkdir -p build
	$(PYTHON) tests/oldest_versions.py > $@

# Builds for tests are installed, not editable, in separate environments, so that they are never mixed
# with the build in place. INSTALLED is the environment of setup.py.
.venv-%/.ready: FORCE
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install -q --upgrade pip
	$(INSTALLED) $(@D)/bin/python -m pip install -q ".[test]"
FORCE:

PYTEST = python -P -m pytest -m "not slow" --rootdir=.. -c ../pyproject.toml

test-debug: INSTALLED = SSTRUCT_DEBUG=1
test-debug: .venv-debug/.ready
	cd tests && ../.venv-debug/bin/$(PYTEST) . $(PYTEST_ARGS)

# Reports of sanitizers, also from child processes, are written to files; a single report is a failure.
# The interpreter is not instrumented, so gcc's library must be preloaded.
REPORTS = $(CURDIR)/build/$@
define under_sanitizer
	rm -rf $(REPORTS) && mkdir -p $(REPORTS)
	cd tests && env $(1) ../.venv-$(2)/bin/$(PYTEST) $(3) $(PYTEST_ARGS) ; \
	status=$$? ; ! grep -hv 'WARNING: AddressSanitizer failed to allocate' $(REPORTS)/* 2>/dev/null && exit $$status
endef

# Leaks are not detected, since the interpreter does not free all memory at exit. PYTHONMALLOC: Python's
# allocator would hide blocks in its arenas. Failed allocations must raise a MemoryError, as without the
# sanitizer, whose message about them is not a failure. libstdc++ must be loaded before gcc's library
# wraps its functions, since C++ code of other packages throws exceptions. Stack use after return is
# not detected, since up to gcc 13 such stacks are not aligned for wide vectors. Three tests are excluded:
# one requires equal rounding of two kernels, which -O1 changes; one measures memory, which the
# sanitizer frees with a delay; one forks, which may copy a locked allocator of gcc 12's library.
ASAN_TESTS = kernels checks oracles problems solvers inference $(notdir $(wildcard tests/hostile)) \
  $(patsubst %,estimators/%.py,input/test_bad_input input/test_corrupt_matrices custom/test_custom_hostile \
    checkpoint/test_doctored_checkpoints state/test_fitted_state) \
  -k "not steps_equal_those_of_chains and not failed_fits_do_not_leak and not may_fork_after_a_pass"
test-asan: INSTALLED = SSTRUCT_SANITIZE=address,undefined
test-asan: .venv-asan/.ready
	$(call under_sanitizer,PYTHONMALLOC=malloc \
	  LD_PRELOAD="$$(gcc -print-file-name=libasan.so) libstdc++.so.6" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=0:log_path=$(REPORTS)/asan \
	  UBSAN_OPTIONS=print_stacktrace=1:log_path=$(REPORTS)/ubsan,asan,$(ASAN_TESTS))

# In modules that are not instrumented (the interpreter, NumPy), only locks and threads are considered.
# setarch -R disables address randomization, which gcc's library does not support. One process, since
# processes of pytest-xdist may hang at exit. One test is excluded: its own thread reads the number of
# oracle calls during a pass.
TSAN_TESTS = solvers/test_pass_threads.py solvers/test_lag.py problems/test_thread_pool.py estimators/parallel/test_threads.py \
  -k "not state_is_valid_after_an_interruption"
test-tsan: INSTALLED = SSTRUCT_SANITIZE=thread
test-tsan: override PYTEST_ARGS += -n 0
test-tsan: .venv-tsan/.ready
	$(call under_sanitizer,OPENBLAS_NUM_THREADS=1 LD_PRELOAD="$$(gcc -print-file-name=libtsan.so)" \
	  TSAN_OPTIONS=ignore_noninstrumented_modules=1:die_after_fork=0:history_size=7:log_path=$(REPORTS)/tsan \
	  setarch -R,tsan,$(TSAN_TESTS))

# SEED=... repeats a run. Each finding is printed with the command that repeats its case.
SECONDS ?= 60
fuzz: build $(VENV)/.extra-test
	$(BIN)/python -m tests.hostile --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

lint: build $(VENV)/.extra-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/expand_docstrings.py --check
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
	rm -rf build dist *.egg-info demo_output .pytest_cache .hypothesis .ruff_cache doc/_build doc/gallery doc/tutorials doc/generated
	find sstruct '(' -name '*.so' -o -name '*.c' ')' -delete
	find sstruct tests tools -name '__pycache__' -prune -exec rm -rf {} +
	rm -f $(VENV)/.built
