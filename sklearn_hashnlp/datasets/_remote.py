"""Downloads: the data home, SHA-256 checks, and extraction of archives."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener
from uuid import uuid4

DATA_VARIABLE = "HASHNLP_DATA"
DEFAULT_DATA_HOME = "~/sklearn_hashnlp_data"


def data_home(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder where data sets are stored, which need not exist."""
    return Path(folder or os.environ.get(DATA_VARIABLE) or DEFAULT_DATA_HOME).expanduser()


@contextmanager
def explain_write_errors(folder: Path, name: str) -> Iterator[None]:
    """Raise an error with advice if a disk is full or a folder is not writable; other errors pass."""
    try:
        yield
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        if not full and error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
            raise
        reason = "the disk is full" if full else "the folder is not writable"
        raise OSError(
            error.errno,
            f"{name} cannot be saved in {folder}: {reason} ({error.strerror}). Choose another folder with data_home or "
            f"the environment variable {DATA_VARIABLE}.",
        ) from error


_EXTRACTED = ("train.csv", "test.csv", "classes.txt", "readme.txt")
_REQUIRED = ("train.csv", "test.csv")


def unpack_text_set(archive: Path, folder: Path) -> None:
    """Extract the files of a text set from its archive into a new folder, which does not exist after an error."""
    with (
        explain_write_errors(folder.parent, folder.name),
        tempfile.TemporaryDirectory(prefix=f"{folder.name}.", suffix=".part", dir=folder.parent) as temporary,
    ):
        new = Path(temporary) / folder.name  # the temporary folder itself is only readable by its owner
        new.mkdir()
        try:
            with tarfile.open(archive) as tar:
                for member in tar:
                    path = PurePosixPath(member.name)
                    if path.is_absolute() or ".." in path.parts:
                        raise ValueError(
                            f"{archive} is refused: its member {member.name!r} points outside the folder. Delete it."
                        )
                    source = tar.extractfile(member) if path.name in _EXTRACTED and member.isreg() else None
                    if source is not None:
                        with source, (new / path.name).open("wb") as target:
                            shutil.copyfileobj(source, target, 1 << 20)
        except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{archive} is damaged, or not a tar archive ({error}). Delete it.") from error
        missing = [name for name in _REQUIRED if not (new / name).is_file()]
        if missing:
            raise ValueError(f"{archive} does not contain {' and '.join(missing)}. It is another archive: delete it.")
        new.rename(folder)


_TIMEOUT_SECONDS = 60.0
_CHUNK_BYTES = 1 << 20


class RemoteFile(NamedTuple):
    """A file on a server."""

    name: str  # file name on the disk
    url: str  # http or https
    sha256: str  # as published
    n_bytes: int | None = None  # size if known, and maximum number of bytes to download


def fetch_remote(
    remote: RemoteFile, folder: Path, *, download: bool = True, progress: Callable[[int, int], None] | None = None
) -> Path:
    """Return the path of a file in the folder, downloaded if it is missing, and check its SHA-256."""
    path = folder / remote.name
    if path.exists():
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        _check(digest, remote, file=f"The file {path}", advice="Delete it.")
    elif download:
        with explain_write_errors(folder, remote.name):
            folder.mkdir(parents=True, exist_ok=True)
            _download(remote, path, progress)
    else:
        raise FileNotFoundError(
            f"{path} does not exist, and download_if_missing=False. {_manual_download(remote, path)}"
        )
    return path


def _download(remote: RemoteFile, path: Path, progress: Callable[[int, int], None] | None) -> None:
    part = path.with_name(f"{path.name}.{uuid4().hex}.part")
    digest = hashlib.sha256()
    try:
        with part.open("xb") as file:
            for chunk in _chunks(remote, path, progress):
                file.write(chunk)
                digest.update(chunk)
        # Checked before the file gets its name.
        file_from = f"The file from {remote.url}"
        _check(digest.hexdigest(), remote, file=file_from, advice="It was not kept; try again.")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _chunks(remote: RemoteFile, path: Path, progress: Callable[[int, int], None] | None) -> Iterator[bytes]:
    """Yield the bytes of a response; raise an error if it is incomplete or a web page."""
    manually = _manual_download(remote, path)
    try:
        request = Request(remote.url, headers={"User-Agent": "sklearn-hashnlp"})
        with build_opener(_SafeRedirects).open(request, timeout=_TIMEOUT_SECONDS) as response:
            n_expected = int(response.headers.get("Content-Length") or 0)
            n_bytes = 0
            while chunk := response.read(_CHUNK_BYTES):
                if not n_bytes and chunk.lstrip()[:9].lower().startswith((b"<!doctype", b"<html")):
                    raise ValueError(
                        f"{remote.url} returned a web page instead of the file, as networks with a login page do. "
                        f"Open it in a browser to see the page. {manually}"
                    )
                n_bytes += len(chunk)
                if remote.n_bytes is not None and max(n_bytes, n_expected) > remote.n_bytes:
                    raise ValueError(
                        f"{remote.url} returned more than the expected {remote.n_bytes:,} bytes: the file there has "
                        f"changed. {manually}"
                    )
                yield chunk
                if progress is not None:
                    progress(n_bytes, n_expected)
    except HTTPError as error:
        error.close()
        raise ConnectionError(
            f"The server answered {error.code} {error.reason} for {remote.url}. The file may have moved. {manually}"
        ) from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise ConnectionError(
            f"{remote.url} could not be downloaded ({reason}). Check the internet connection, and whether a proxy is "
            f"needed (environment variable https_proxy). {manually}"
        ) from error
    if n_bytes < n_expected:
        raise ConnectionError(
            f"{remote.url}: the connection was closed after {n_bytes:,} of {n_expected:,} bytes. Try again. {manually}"
        )


class _SafeRedirects(HTTPRedirectHandler):
    """Follow redirects to http and https only, and never from https to http."""

    def redirect_request(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str) -> Any:
        schemes = {"https"} if urlsplit(req.full_url).scheme == "https" else {"http", "https"}
        if urlsplit(newurl).scheme not in schemes:
            raise ValueError(
                f"{req.full_url} redirects to {newurl}, which is refused: expected {' or '.join(sorted(schemes))}."
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check(sha256: str, remote: RemoteFile, *, file: str, advice: str) -> None:
    """Compare a SHA-256 with the published one."""
    if sha256 != remote.sha256:
        raise ValueError(
            f"{file} is not the expected one: its SHA-256 is {sha256}, expected {remote.sha256} (published). It is "
            f"damaged, or the file at {remote.url} has changed. {advice}"
        )


def _manual_download(remote: RemoteFile, path: Path) -> str:
    return f"Or download {remote.url} by other means and save it as {path}."
