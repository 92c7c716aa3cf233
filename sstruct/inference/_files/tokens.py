"""Words of a text file, plain or gzip, one after another, and the line that each stands on.

The text is read in blocks, so that no more is held than a block and what was made of it; what a
file says about its own size is never believed before as many words are there. Everything takes
time linear in the text; a word, or a line with comments, is at most two blocks long.
"""

import gzip
import os
import re
import zlib

import numpy as np

from sstruct._checks.shown import brief

_BLOCK = 2**20
# Short: an array of words takes the longest one's room for each.
_NUMBER = re.compile(
    rb"[+-]?(?:[0-9]{1,50}(?:\.[0-9]{0,50})?|\.[0-9]{1,50})(?:[ed][+-]?[0-9]{1,9})?"
    rb"|[+-]?(?:nan|inf|infinity)",
    re.IGNORECASE,
)
# Words are separated by whitespace; a text of more bytes for each entry is refused.
_BYTES_PER_ENTRY = 64
_SPACES = b" \t\n\r\v\f"
_BOM = b"\xef\xbb\xbf"
_COMMENTS = {b"c": re.compile(rb"(?m)^c(?:[ \t].*)?$"), b"#": re.compile(rb"#.*")}


class Tokens:
    """The words of a file, in a ``with`` block.

    Parameters
    ----------
    path : str or path-like
    max_entries : int
        Limit of what the file may declare, in numbers, all together (`declare`).
    comments : {b"c", b"#"}
        Start of a comment: the word c at the start of a line, or # anywhere.
    """

    def __init__(self, path, max_entries, comments):
        self.path, self.left = os.fspath(path), max_entries
        self.max_entries, self.comments = max_entries, comments
        self.most_bytes = _BYTES_PER_ENTRY * max(max_entries, 2**20)

    def __enter__(self):
        self.file = open(self.path, "rb")
        if self.file.peek(2)[:2] == b"\x1f\x8b":
            self.file = gzip.GzipFile(fileobj=self.file)
        self.text, self.words, self.at, self.has_d = b"", [], 0, False
        self.rest, self.line, self.n_bytes, self.ended = b"", 1, 0, False
        return self

    def __exit__(self, *_):
        raw = getattr(self.file, "fileobj", None)
        self.file.close()
        if raw is not None:
            raw.close()

    def error(self, message, at=None):
        """Return a ValueError about the last word taken, or the block's word `at`."""
        at = max(self.at - 1, 0) if at is None else at
        line = self.line
        for k, found in enumerate(re.finditer(rb"\S+", self.text)):
            if k == at:
                line += self.text.count(b"\n", 0, found.start())
                break
        else:
            line += self.text.count(b"\n")
        return ValueError(f"{self.path}, line {line}: {message}")

    def _next_block(self):
        """Go on to words not seen yet; False at the end of the file."""
        while self.at >= len(self.words):
            if self.ended:
                return False
            try:
                block = self.file.read(_BLOCK)
            except (OSError, EOFError, zlib.error) as error:
                raise self.error(f"the file cannot be read any further: {brief(error)}") from None
            self.line += self.text.count(b"\n")
            self.n_bytes += len(block)
            if self.n_bytes > self.most_bytes:
                self.text = b""
                raise self.error(
                    f"more than {self.most_bytes} bytes of text; max_entries = "
                    f"{self.max_entries} limits that"
                )
            self.ended = not block
            if self.n_bytes == len(block):
                block = block.removeprefix(_BOM)
            text = self.rest + block
            # A word, or a comment, may go on in the next block.
            cut = len(text) if self.ended else self._end(text)
            self.text, self.rest = text[:cut], text[cut:]
            if len(self.rest) > _BLOCK:
                self.text = b""
                raise self.error(f"a word or a line of more than {_BLOCK} characters")
            self.text = _COMMENTS[self.comments].sub(b"", self.text)
            self.words, self.at = self.text.split(), 0
            # Only exponents as Fortran writes them have this letter.
            self.has_d = b"d" in self.text or b"D" in self.text
        return True

    def _end(self, text):
        """Where the last complete word, or line with a comment, of a text ends."""
        line = 1 + text.rfind(b"\n")
        if self.comments == b"c":
            return line
        comment = text.find(b"#", line)
        return 1 + max(text.rfind(byte, 0, comment if comment >= 0 else None) for byte in _SPACES)

    def at_end(self):
        """Whether there is no word left."""
        return not self._next_block()

    def is_next(self, words):
        """Whether the next word is one of these, in any case."""
        return self._next_block() and self.words[self.at].upper() in words

    def word(self, what):
        """Take a word, as str; `what` says in errors what it should have been."""
        if not self._next_block():
            raise self.error(f"the file ends where {what} is expected")
        self.at += 1
        return self.words[self.at - 1].decode("latin-1")

    def integer(self, what, least, most):
        """Take an integer between two bounds."""
        word = self.word(what)
        # int() would take more, such as underscores, and minutes for a million digits.
        if not re.fullmatch(r"[+-]?[0-9]{1,20}", word):
            raise self.error(f"{word[:40]!r} found, expected {what}, an integer")
        if not least <= int(word) <= most:
            raise self.error(f"{what} is {word}, expected {least} to {most}")
        return int(word)

    def number(self, what):
        """Take a number, as float; NaN and infinities too."""
        return float(self.numbers(1, what)[0])

    def numbers(self, count, what):
        """Take `count` numbers, as a float64 array; NaN and infinities too."""
        parts, missing = [], count
        while missing:
            if not self._next_block():
                raise self.error(
                    f"the file ends where {what} is expected: {count - missing} of {count} "
                    "numbers are there"
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
        """Count what the file says is to come against the limit."""
        self.left -= count
        if self.left < 0:
            raise self.error(
                f"{what}: more than max_entries = {self.max_entries} entries in the file"
            )
