"""Where fetched data is kept, and how it gets there: download, convert, check, write."""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path


def cache_path(data_home, file_name):
    """Path of a cached file in `data_home`, else $SSTRUCT_DATA, else ~/sstruct_data."""
    if data_home is None:
        # An empty variable is an unset one.
        data_home = os.environ.get("SSTRUCT_DATA") or Path("~", "sstruct_data")
    return Path(data_home).expanduser() / file_name


def cached_file(data_home, file_name, make, download_if_missing):
    """Path of a cached file, made first where it is missing.

    Parameters
    ----------
    data_home : path-like or None
        Folder of the cache, see `cache_path`.
    file_name : str
        Name in that folder.
    make : callable(path)
        Downloads the data and writes the file's content to `path`. What it leaves there is
        moved into place only when it returns, so that the cache never holds half a file.
    download_if_missing : bool
        If False, a missing file raises OSError.
    """
    path = cache_path(data_home, file_name)
    if path.exists():
        return path
    if not download_if_missing:
        raise OSError(f"{path} not found, and download_if_missing is False")
    path.parent.mkdir(parents=True, exist_ok=True)
    # In the folder of the cache itself: os.replace is atomic only within a file system.
    handle, draft = tempfile.mkstemp(prefix=f".{file_name}.", dir=path.parent)
    os.close(handle)
    try:
        make(Path(draft))
        os.chmod(draft, 0o644)  # mkstemp lets nobody else read it, but folders are shared
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(draft)
        raise
    return path


def download(url):
    """Content of a URL, as bytes."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            "Downloading data needs pooch: install sstruct[data], or put the file into the "
            "folder that data_home or the environment variable SSTRUCT_DATA names."
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "download")
        try:
            # The downloader itself and not pooch.retrieve: what is checked is the converted
            # data, and retrieve would log the hash of the raw file.
            pooch.HTTPDownloader(timeout=60)(url, target, None)
        except OSError as error:  # what requests raises derives from it
            raise OSError(f"Could not download {url}: {error}") from error
        return Path(target).read_bytes()


def check_sha256(content, expected, what):
    """Raise OSError unless the bytes are those that the benchmarks were made with."""
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise OSError(
            f"{what} is not the data that was expected: its sha256 is {found}, expected "
            f"{expected}. The source may have changed or the download may be damaged; nothing "
            "was written."
        )
