# What a problem compiled outside of the package takes from it.
from sstruct._oracles.core._interval cimport Interval
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
