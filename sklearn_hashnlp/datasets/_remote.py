"""Downloads: the data home, files checked by their hash, archives unpacked."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import re
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
USUAL_FOLDER = "~/sklearn_hashnlp_data"


def data_home(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder where data sets are kept, which need not exist."""
    return Path(folder or os.environ.get(DATA_VARIABLE) or USUAL_FOLDER).expanduser()


@contextmanager
def written_in(folder: Path, name: str) -> Iterator[None]:
    """Say what can be done, where a folder turns out to be full, or not to be written; other errors pass."""
    try:
        yield
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        if not full and error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
            raise
        what = "the disk is full" if full else "the folder must not be written"
        raise OSError(
            error.errno,
            f"{name} cannot be saved in {folder}: {what} ({error.strerror}). Name another folder with data_home, or "
            f"with the variable {DATA_VARIABLE}.",
        ) from error


WANTED = ("train.csv", "test.csv", "classes.txt", "readme.txt")
_NEEDED = ("train.csv", "test.csv")


def unpack_text_set(archive: Path, folder: Path) -> None:
    """Take the files of a set out of its archive."""
    with (
        written_in(folder.parent, folder.name),
        tempfile.TemporaryDirectory(prefix=f"{folder.name}.", suffix=".part", dir=folder.parent) as place,
    ):
        made = Path(place) / folder.name  # the temporary folder itself is its owner's alone
        made.mkdir()
        try:
            with tarfile.open(archive) as tar:
                for member in tar:
                    _take(tar, member, made, archive)
        except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{archive} is damaged, or no tar archive ({error}). Delete it.") from error
        missing = [name for name in _NEEDED if not (made / name).is_file()]
        if missing:
            raise ValueError(f"{archive} has no {' and no '.join(missing)} in it. It is another archive: delete it.")
        made.rename(folder)


def _take(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path, archive: Path) -> None:
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{archive} is refused: its member {member.name!r} leads out of the folder. Delete it.")
    if path.name in WANTED and member.isreg():
        source = tar.extractfile(member)
        assert source is not None  # for the type checker: an ordinary file has content
        with source, (folder / path.name).open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)


_SECONDS_OF_SILENCE = 60.0
_CHUNK = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")


class RemoteFile(NamedTuple):
    """A file on a server."""

    name: str  # its name on the disk
    address: str  # where it is; http or https
    # What is published as its SHA-256; None where nothing is. The first file that comes is trusted then: its own is
    # recorded beside it, as ``NAME.sha256``, and later ones are held to that
    sha256: str | None
    n_bytes: int | None = None  # its length where that is known: not a byte more is taken from the server


def obtain(
    remote: RemoteFile, folder: Path, *, download: bool = True, progress: Callable[[int, int], None] | None = None
) -> Path:
    """Return the path of a file that is in the folder, or download it there; checked by its SHA-256 in both cases."""
    path = folder / remote.name
    if path.exists():
        _check(_sha256_of(path), remote, folder, found=f"The file {path}", cure="Delete it.")
    elif download:
        with written_in(folder, remote.name):
            folder.mkdir(parents=True, exist_ok=True)
            _download(remote, path, progress)
    else:
        raise FileNotFoundError(
            f"{path} is not there, and shall not be downloaded (download_if_missing=False). {_by_hand(remote, path)}"
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
        # Recorded before the file is there, so that there is never a file without its record.
        found = f"What came from {remote.address}"
        _check(digest.hexdigest(), remote, path.parent, found=found, cure="Nothing was kept; try again.")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _chunks(remote: RemoteFile, path: Path, progress: Callable[[int, int], None] | None) -> Iterator[bytes]:
    """Yield what the server sends, and raise unless it is a whole file that is no web page."""
    by_hand = _by_hand(remote, path)
    try:
        with _open(remote.address) as response:
            n_expected = int(response.headers.get("Content-Length") or 0)
            n_bytes = 0
            while chunk := response.read(_CHUNK):
                if not n_bytes and chunk.lstrip()[:9].lower().startswith((b"<!doctype", b"<html")):
                    raise ValueError(
                        f"{remote.address} gave a web page instead of the file; networks that ask for a login do so. "
                        f"Open the address in a browser and see. {by_hand}"
                    )
                n_bytes += len(chunk)
                if remote.n_bytes is not None and max(n_bytes, n_expected) > remote.n_bytes:
                    raise ValueError(
                        f"{remote.address} gives more than the {remote.n_bytes:,} bytes that the file has. Another "
                        f"file stands there now. {by_hand}"
                    )
                yield chunk
                if progress is not None:
                    progress(n_bytes, n_expected)
    except HTTPError as error:
        error.close()
        raise ConnectionError(
            f"The server refuses {remote.address}: {error.code} {error.reason}. It may have moved. {by_hand}"
        ) from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise ConnectionError(
            f"{remote.address} could not be downloaded ({reason}). Is this machine connected to the internet, and does "
            f"it need a proxy (the variable https_proxy)? Try again. {by_hand}"
        ) from error
    if n_bytes < n_expected:
        raise ConnectionError(
            f"{remote.address}: the connection ended after {n_bytes:,} of {n_expected:,} bytes. Try again. {by_hand}"
        )


def _open(address: str) -> Any:
    request = Request(address, headers={"User-Agent": "sklearn-hashnlp"})
    return build_opener(_OnlyOnTheWeb).open(request, timeout=_SECONDS_OF_SILENCE)


class _OnlyOnTheWeb(HTTPRedirectHandler):
    """Follows a server to another address, but not off the web, and not from an encrypted connection to an open one."""

    def redirect_request(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str) -> Any:
        schemes = {"https"} if urlsplit(req.full_url).scheme == "https" else {"http", "https"}
        if urlsplit(newurl).scheme not in schemes:
            raise ValueError(
                f"{req.full_url} leads to {newurl}, which is refused: expected {' or '.join(sorted(schemes))}."
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check(sha256: str, remote: RemoteFile, folder: Path, *, found: str, cure: str) -> None:
    """Compare with the published or recorded SHA-256; where there is neither, record this one."""
    record = folder / f"{remote.name}.sha256"
    if remote.sha256 is not None:
        expected, witness = remote.sha256, "as published"
    elif record.exists():
        expected = record.read_text(encoding="ascii", errors="replace").split(" ")[0]
        witness = f"as recorded in {record} at the first download"
        if not _SHA256.fullmatch(expected):
            raise ValueError(f"{record} is damaged: expected a SHA-256, found {expected[:80]!r}. Delete it.")
        cure += f" If the file is known to have changed, delete {record}."
    else:
        part = record.with_name(f"{record.name}.{uuid4().hex}.part")
        part.write_text(f"{sha256}  {remote.name}\n", encoding="ascii")  # what sha256sum --check reads
        part.replace(record)
        return
    if sha256 != expected:
        raise ValueError(
            f"{found} is not the expected file: its SHA-256 is {sha256}, expected {expected} ({witness}). It was "
            f"damaged, or another file stands at {remote.address} now. {cure}"
        )


def _sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _by_hand(remote: RemoteFile, path: Path) -> str:
    return f"Or fetch {remote.address} by other means and put it at {path}."
