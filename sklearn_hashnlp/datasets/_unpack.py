"""Taking the CSV files out of an archive."""

from __future__ import annotations

import gzip
import shutil
import tarfile
import tempfile
import zlib
from pathlib import Path, PurePosixPath

from sklearn_hashnlp.datasets._data_home import written_in

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
