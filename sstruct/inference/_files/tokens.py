"""Tokenizer for text files, plain or compressed, that keeps track of line numbers.

The text is read in blocks, so memory holds one block and the parsed values. The sizes that a file
declares are not trusted before that many words have been read. All operations take time linear in
the text. A word and a line with a comment are limited to two blocks, as is any line if whole lines
may be comments.
"""

import bz2
import gzip
import lzma
import os
import re
import zlib

import numpy as np

from sstruct._checks.shown import brief

_BLOCK = 2**20
# Limited length: an array of words reserves the longest word's space for each.
_NUMBER = re.compile(
    rb"[+-]?(?:[0-9]{1,50}(?:\.[0-9]{0,50})?|\.[0-9]{1,50})(?:[ed][+-]?[0-9]{1,9})?"
    rb"|[+-]?(?:nan|inf|infinity)",
    re.IGNORECASE,
)
# Limit on the bytes of a text for each entry of `max_entries`, with a minimum of 2^20 entries.
_BYTES_PER_ENTRY = 64
_BOM = b"\xef\xbb\xbf"
_COMPRESSED = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_COMMENTS = {b"c": re.compile(rb"(?m)^c(?:[ \t].*)?$"), b"#": re.compile(rb"#.*")}


class Tokens:
    """Iterate over the words of a file, within a ``with`` block.

    Parameters
    ----------
    path : str or path-like
    max_entries : int
        Limit on the total number of entries that the file may declare (see `declare`).
    comments : {b"c", b"#"}
        Start of comments: lines whose first word is c, or the text from # to the end of a line.
    """

    # A word, and the bytes that separate words or are words of one byte.
    WORD = re.compile(rb"\S+")
    ENDS = b" \t\n\r\v\f"

    def __init__(self, path, max_entries, comments):
        self.path, self.left = os.fspath(path), max_entries
        self.max_entries, self.comments = max_entries, comments
        self.max_bytes = _BYTES_PER_ENTRY * max(max_entries, 2**20)

    def __enter__(self):
        self.file = self.raw = open(self.path, "rb")
        start = self.raw.peek(6)
        for magic, opener in _COMPRESSED.items():
            if start.startswith(magic):
                self.file = opener(self.raw)
        self.text, self.words, self.at, self.has_d = b"", [], 0, False
        self.rest, self.line, self.n_bytes, self.ended = b"", 1, 0, False
        return self

    def __exit__(self, *_):
        self.file.close()
        self.raw.close()

    def error(self, message, at=None):
        """Return a ValueError at the line of the last word, or of word `at` of the block."""
        at = max(self.at - 1, 0) if at is None else at
        line = self.line
        for k, found in enumerate(self.WORD.finditer(self.text)):
            if k == at:
                line += self.text.count(b"\n", 0, found.start())
                break
        else:
            line += self.text.count(b"\n")
        return ValueError(f"{self.path}, line {line}: {message}")

    def _next_block(self):
        """Read the next block when the current one is used up; return False at the end."""
        while self.at >= len(self.words):
            if self.ended:
                return False
            try:
                block = self.file.read(_BLOCK)
            except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
                raise self.error(f"cannot read the rest of the file: {brief(error)}") from None
            self.line += self.text.count(b"\n")
            self.n_bytes += len(block)
            if self.n_bytes > self.max_bytes:
                self.text = b""
                raise self.error(
                    f"the file has more than {self.max_bytes} bytes of text, the limit for "
                    f"max_entries={self.max_entries}"
                )
            self.ended = not block
            if self.n_bytes == len(block):
                block = block.removeprefix(_BOM)
            text = self.rest + block
            # A word or a comment may continue in the next block.
            cut = len(text) if self.ended else self._end(text)
            self.text, self.rest = text[:cut], text[cut:]
            if len(self.rest) > _BLOCK:
                self.text = b""
                raise self.error(f"a word or a line has more than {_BLOCK} characters")
            self.text = _COMMENTS[self.comments].sub(b"", self.text)
            self.words, self.at = self._split(), 0
            # Fortran may write the exponent as D; valid numbers have no other d.
            self.has_d = b"d" in self.text or b"D" in self.text
        return True

    def _split(self):
        """Return the words of the block."""
        return self.text.split()

    def _end(self, text):
        """Return the end of the last complete word, or of the last line with a comment."""
        line = 1 + text.rfind(b"\n")
        if self.comments == b"c":
            return line
        comment = text.find(b"#", line)
        return 1 + max(text.rfind(byte, 0, comment if comment >= 0 else None) for byte in self.ENDS)

    def at_end(self):
        """Return True if no word is left."""
        return not self._next_block()

    def is_next(self, words):
        """Return True if the next word is one of `words`, ignoring case."""
        return self._next_block() and self.words[self.at].upper() in words

    def word(self, what):
        """Return the next word as str; `what` is the expected item in errors."""
        if not self._next_block():
            raise self.error(f"the file ends before {what}")
        self.at += 1
        return self.words[self.at - 1].decode("latin-1")

    def integer(self, what, least, most):
        """Return the next word as an integer from `least` to `most`."""
        word = self.word(what)
        # int() would accept underscores, and is slow for a million digits.
        if not re.fullmatch(r"[+-]?[0-9]{1,20}", word):
            raise self.error(f"{word[:40]!r} found, expected {what}, an integer")
        if not least <= int(word) <= most:
            raise self.error(f"{what} is {word}, expected {least} to {most}")
        return int(word)

    def number(self, what):
        """Return the next word as a float; NaN and infinity are accepted."""
        return float(self.numbers(1, what)[0])

    def numbers(self, count, what):
        """Return the next `count` words as a float64 array; NaN and infinity are accepted."""
        parts, missing = [], count
        while missing:
            if not self._next_block():
                raise self.error(
                    f"the file ends within {what}: found {count - missing} of {count} numbers"
                )
            some = self.words[self.at : self.at + missing]
            for k, word in enumerate(some):
                if not _NUMBER.fullmatch(word):
                    word = word.decode("latin-1")[:40]
                    raise self.error(f"{word!r} found, expected a number of {what}", self.at + k)
            if self.has_d:
                some = [word.upper().replace(b"D", b"E") for word in some]
            parts.append(np.array(some, dtype="S").astype(np.float64))
            self.at += len(some)
            missing -= len(some)
        return np.concatenate(parts) if parts else np.empty(0)

    def declare(self, count, what):
        """Add `count` declared entries to the total; raise if it exceeds the limit."""
        self.left -= count
        if self.left < 0:
            raise self.error(
                f"{what}: the file declares more than max_entries={self.max_entries} entries"
            )
