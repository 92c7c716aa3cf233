# What a problem compiled outside of the package takes from it.
from sstruct._problems._block_problem cimport BlockProblem, OracleAnswer
