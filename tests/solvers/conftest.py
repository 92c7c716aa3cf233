"""The tests of the whole family wait for its engine."""

from importlib.util import find_spec

collect_ignore = (
    [] if find_spec("sstruct._solvers._exact_pass") else ["test_average.py", "test_family.py"]
)
