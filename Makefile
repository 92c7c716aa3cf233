# Every target makes and reuses its own virtual environment. PYTHON chooses the interpreter.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install -q --disable-pip-version-check
SOURCES = $(shell find sstruct -name '*.pyx' -o -name '*.pxd' -o -name '*.h')
# Two processes: the tests take 12 minutes of one core.
PYTEST_ARGS ?= -n 2

.PHONY: help build ext demo test test-slow test-oldest test-debug test-asan test-tsan fuzz lint bench doc wheel annotate clean
help:
	@echo "make demo       train a model on dates of handwritten digits and draw what it reads"
	@echo "make test       all tests but the slowest (PYTEST_ARGS=... in place of -n 2); test-slow runs those"
	@echo "make test-oldest  the tests with the oldest dependencies that pyproject.toml allows"
	@echo "make test-debug the tests on a build with bounds checks"
	@echo "make test-asan  those of compiled code under AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make test-tsan  passes in threads under ThreadSanitizer"
	@echo "make fuzz SECONDS=600  attacks everything with hostile values, files and models"
	@echo "make build      compile what has changed, in place;  make ext PYX=path  one file alone"
	@echo "make annotate PYX=path  shows what Cython made of one file"
	@echo "make lint doc bench wheel clean"

# Compiling needs neither NumPy nor the others: they are installed meanwhile.
build:
	@$(MAKE) -j 2 $(VENV)/.built $(VENV)/.installed

$(VENV)/.tools:
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile "setuptools>=77.0.1" "Cython>=3.2"
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
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_ARGS)

test-slow: build $(VENV)/.extra-test
	$(BIN)/python -m pytest -m slow $(PYTEST_ARGS)

# The build in place with other packages. NumPy 1.26 requires Python 3.11 or 3.12. Old packages warn
# of what their newer dependencies deprecate.
test-oldest: build/oldest.txt
	PIP_CONSTRAINT=$(CURDIR)/$< $(MAKE) test VENV=.venv-oldest \
	  PYTEST_ARGS="$(PYTEST_ARGS) -W ignore::DeprecationWarning"

build/oldest.txt: pyproject.toml tests/oldest_versions.py
	mkdir -p build
	$(PYTHON) tests/oldest_versions.py > $@

# Builds for tests are installed, not editable, each in an environment of its own, so that they
# never mix with the build in place. INSTALLED says what setup.py is to make of it.
.venv-%/.ready: FORCE
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install -q --upgrade pip
	$(INSTALLED) $(@D)/bin/python -m pip install -q ".[test]"
FORCE:

PYTEST = python -P -m pytest -m "not slow" --rootdir=.. -c ../pyproject.toml

test-debug: INSTALLED = SSTRUCT_DEBUG=1
test-debug: .venv-debug/.ready
	cd tests && ../.venv-debug/bin/$(PYTEST) . $(PYTEST_ARGS)

# Reports of sanitizers go into files, those of child processes too; one is enough to fail. The
# interpreter is not instrumented, so that gcc's library has to be there before it.
REPORTS = $(CURDIR)/build/$@
define under_sanitizer
	rm -rf $(REPORTS) && mkdir -p $(REPORTS)
	cd tests && env $(1) ../.venv-$(2)/bin/$(PYTEST) $(3) $(PYTEST_ARGS) ; \
	status=$$? ; ! grep -hv 'WARNING: AddressSanitizer failed to allocate' $(REPORTS)/* 2>/dev/null && exit $$status
endef

# Leaks: the interpreter keeps what it has at its end. Python's own allocator would hide blocks in
# its arenas; more memory than there is must be a MemoryError, as it is without the sanitizer, whose
# note of that is no report. C++ of other packages throws: their library must be there before gcc's
# wraps its functions. Stacks of calls that have returned are not looked at: up to gcc 13 they are
# not aligned for wide vectors. One test wants two sums of different kernels to round alike, which
# they do not at -O1; another one measures memory, and the sanitizer keeps for a while what was freed.
ASAN_TESTS = kernels checks oracles problems solvers inference $(notdir $(wildcard tests/hostile)) \
  $(patsubst %,estimators/%.py,input/test_bad_input input/test_compressed_doors custom/test_custom_hostile \
    checkpoint/test_doctored_checkpoints state/test_fitted_state) \
  -k "not way_is_that_of_chains and not no_memory_behind"
test-asan: INSTALLED = SSTRUCT_SANITIZE=address,undefined
test-asan: .venv-asan/.ready
	$(call under_sanitizer,PYTHONMALLOC=malloc \
	  LD_PRELOAD="$$(gcc -print-file-name=libasan.so) libstdc++.so.6" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=0:log_path=$(REPORTS)/asan \
	  UBSAN_OPTIONS=print_stacktrace=1:log_path=$(REPORTS)/ubsan,asan,$(ASAN_TESTS))

# Of modules that are not instrumented (the interpreter, NumPy) only locks and threads count. No
# address randomization: gcc's library wants its places in memory. In one process: those of
# pytest-xdist may hang at their end.
TSAN_TESTS = solvers/test_pass_threads.py solvers/test_lag.py problems/test_thread_pool.py estimators/parallel/test_threads.py
test-tsan: INSTALLED = SSTRUCT_SANITIZE=thread
test-tsan: override PYTEST_ARGS += -n 0
test-tsan: .venv-tsan/.ready
	$(call under_sanitizer,OPENBLAS_NUM_THREADS=1 LD_PRELOAD="$$(gcc -print-file-name=libtsan.so)" \
	  TSAN_OPTIONS=ignore_noninstrumented_modules=1:die_after_fork=0:history_size=7:log_path=$(REPORTS)/tsan \
	  setarch -R,tsan,$(TSAN_TESTS))

# SEED=... repeats a run; what it prints of a finding names the command that repeats one case.
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
	find sstruct -name '__pycache__' -prune -exec rm -rf {} +
	rm -f $(VENV)/.built
