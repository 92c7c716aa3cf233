"""User-defined structures in C or Cython, or as integer programs."""

from sstruct._estimators.custom.binary_programs import BinaryProgram, MILPOracle
from sstruct._estimators.custom.compiled_oracle import CompiledOracle
from sstruct._problems.core._block_problem import BlockProblem
from sstruct._problems.core._decode import decode

__all__ = ["BinaryProgram", "BlockProblem", "CompiledOracle", "MILPOracle", "decode"]
