# What a problem compiled outside of the package takes from it.
from sstruct._oracles._interval cimport Interval
from sstruct._problems._block_problem cimport BlockProblem, OracleAnswer
