"""Features in files, mapped into memory and not read before they are wanted."""

from sstruct._input.mapped_files import open_mapped

__all__ = ["open_mapped"]
