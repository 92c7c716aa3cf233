"""Memory-mapped features, which are read from disk on demand."""

from sstruct._input.mapped_files import open_mapped

__all__ = ["open_mapped"]
