"""Download data sets and cache them as verified, converted files."""

import hashlib
import os
import tempfile
from pathlib import Path

from sstruct._checks.files import replaced_file


def cache_path(data_home, file_name):
    """Return the path of a file in `data_home`, or by default $SSTRUCT_DATA or ~/sstruct_data."""
    if data_home is None:
        # An empty variable counts as unset.
        data_home = os.environ.get("SSTRUCT_DATA") or Path("~", "sstruct_data")
    return Path(data_home).expanduser() / file_name


def cached_file(data_home, file_name, make, download_if_missing):
    """Return the path of a cached file, which is created if it is missing.

    Parameters
    ----------
    data_home : path-like or None
        Cache directory, see `cache_path`.
    file_name : str
        File name in that directory.
    make : callable(path)
        Downloads the data and writes the converted file to `path`, from where the file is moved to
        its final location, so that the cache never contains incomplete files.
    download_if_missing : bool
        If False, raise an OSError if the file is missing.
    """
    path = cache_path(data_home, file_name)
    if path.exists():
        return path
    if not download_if_missing:
        raise OSError(
            f"{path} not found and download_if_missing is False; set data_home to the directory of "
            "the file"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced_file(path) as draft:
        make(draft)
    return path


def download(url):
    """Return the content of a URL as bytes."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            "Downloading data requires pooch: install sstruct[data], or copy the file to the "
            "directory given by data_home or the environment variable SSTRUCT_DATA."
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "download")
        try:
            # Not pooch.retrieve, which would verify and log the hash of the raw file: the hash
            # of the converted data is verified instead.
            pooch.HTTPDownloader(timeout=60)(url, target, None)
        except OSError as error:  # includes the exceptions of requests
            raise OSError(f"Could not download {url}: {error}") from error
        return Path(target).read_bytes()


def check_sha256(content, expected, what):
    """Raise OSError unless the hash of the bytes is the expected one."""
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise OSError(
            f"the SHA256 checksum of {what} is {found}, expected {expected}. The source may have "
            "changed or the download may be damaged; nothing was written."
        )
