"""Paths of the readers in other languages."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from sstruct._checks.parameters import check_choice

__all__ = ["reader_path"]

READERS = {"c": "sstruct.h", "javascript": "sstruct.js"}


def reader_path(language: Literal["c", "javascript"]) -> Path:
    """Return the path of the file that reads exported JSON models in another language.

    Each reader is one file without dependencies, to be copied into a project. Its first lines
    show how to use it.

    Parameters
    ----------
    language : {"c", "javascript"}
        ``"c"`` for a header in C99, ``"javascript"`` for a module for browsers and Node.

    Returns
    -------
    path : pathlib.Path
        A file in the installed package.

    Raises
    ------
    ValueError
        If there is no reader for the language.

    See Also
    --------
    sstruct.export.export_model : Write the models.

    Examples
    --------
    >>> from sstruct.export import reader_path
    >>> reader_path("javascript").name
    'sstruct.js'
    """
    check_choice("language", language, tuple(READERS))
    return Path(__file__).with_name(READERS[language])
