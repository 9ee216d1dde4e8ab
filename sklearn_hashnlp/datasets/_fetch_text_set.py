"""What the functions that fetch the sets of Zhang, Zhao and LeCun (2015) have in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sklearn_hashnlp.datasets._remote import RemoteFile, obtain, unpack_text_set
from sklearn_hashnlp.datasets._remote import data_home as kept_in
from sklearn_hashnlp.datasets._row_formats import is_class_number
from sklearn_hashnlp.datasets._text_set import PARTS, find_text_set, has_both_parts, read_part
from sklearn_hashnlp.datasets._zhang_sets import ZHANG_SETS, ZhangSet

SUBSETS = (*PARTS, "all")

_DESCRIPTION = """\
{title}

{n_texts} texts from {folder}. The whole set has {n_train:,} texts to train with and {n_test:,} to test with, in
{n_classes} classes; columns: {columns}.

Terms: {terms}
Source: {address}
X. Zhang, J. Zhao and Y. LeCun, Character-level Convolutional Networks for Text Classification, NIPS 2015.
"""


def fetch_text_set(
    key: str, subset: str, data_home: str | os.PathLike[str] | None, download_if_missing: bool, return_X_y: bool
) -> Bunch | tuple[list[str], NDArray[np.str_]]:
    """Load the set of this key of ``ZHANG_SETS``; ``fetch_ag_news`` documents the other parameters and the answer."""
    known = ZHANG_SETS[key]
    if subset not in SUBSETS:
        raise ValueError(
            f"{known.function}: subset must be one of {', '.join(map(repr, SUBSETS))}. Got {subset!r} instead."
        )
    folder = _folder_of(key, kept_in(data_home), download_if_missing)
    parts = [read_part(folder, part) for part in (PARTS if subset == "all" else [subset])]
    texts = [text for part, _ in parts for text in part]
    if known.escapes_line_feeds:
        texts = [text.replace("\\n", "\n") for text in texts]
    labels = _named(np.concatenate([part for _, part in parts]), known, folder)
    if return_X_y:
        return texts, labels
    found = np.unique(labels).tolist()
    description = _DESCRIPTION.format(
        **known._asdict(),
        address=known.address,
        n_classes=len(known.classes),
        n_texts=f"{len(texts):,}",
        folder=folder,
    )
    return Bunch(
        data=texts,
        target=labels,
        target_names=list(known.classes) if set(found) <= set(known.classes) else found,
        filename=str(folder),
        DESCR=description,
    )


def _folder_of(key: str, home: Path, download: bool) -> Path:
    """Find the set, or bring it there."""
    try:
        return find_text_set(key, home)
    except FileNotFoundError:
        pass
    known = ZHANG_SETS[key]
    remote = RemoteFile(f"{known.archive}_csv.tgz", known.address, known.sha256, known.n_bytes)
    folder = home / f"{known.archive}_csv"
    if folder.exists():
        raise FileExistsError(f"{folder} is there, but without train.csv and test.csv. Complete it, or delete it.")
    was_there = (home / remote.name).exists()
    with _shown(remote.name) as progress:
        archive = obtain(remote, home, download=download, progress=progress)
    try:
        unpack_text_set(archive, folder)
    except OSError:
        if not has_both_parts(folder):  # or else another process was faster
            raise
    if not was_there:  # the user's own archive is kept
        archive.unlink(missing_ok=True)
    return folder


def _named(labels: NDArray[np.str_], known: ZhangSet, folder: Path) -> NDArray[np.str_]:
    """Return the classes their names; those of a file that names its own stay."""
    found, positions = np.unique(labels, return_inverse=True)
    names = []
    for label in found.tolist():
        if is_class_number(label) and not 1 <= int(label) <= len(known.classes):
            raise ValueError(f"{folder}: expected class numbers from 1 to {len(known.classes)}, found {label}.")
        names.append(known.classes[int(label) - 1] if is_class_number(label) else label)
    return np.array(names)[positions]


@contextmanager
def _shown(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """Draw a bar on a terminal, and nothing where there is none."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = TextColumn("Downloading {task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=None, visible=False)

        def move(n_bytes: int, n_all: int) -> None:
            bar.update(task, completed=n_bytes, total=n_all or None, visible=True)

        yield move
