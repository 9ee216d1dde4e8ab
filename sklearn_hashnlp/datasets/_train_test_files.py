"""Find and read folders with train.csv and test.csv."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.datasets._labelled import load_labelled
from sklearn_hashnlp.datasets._lines import read_lines
from sklearn_hashnlp.datasets._remote import DATA_VARIABLE, DEFAULT_DATA_HOME, data_home
from sklearn_hashnlp.datasets._row_formats import has_header, numbered_rows
from sklearn_hashnlp.datasets._zhang_sets import ZHANG_SETS

PARTS = ("train", "test")


class TextSet(NamedTuple):
    """Training and test texts with their labels."""

    train_texts: list[str]
    train_labels: NDArray[np.str_]
    test_texts: list[str]
    test_labels: NDArray[np.str_]


def read_text_set(folder: str | os.PathLike[str]) -> TextSet:
    """Read the training and test texts of a folder."""
    return TextSet(*read_part(folder, "train"), *read_part(folder, "test"))


def read_part(folder: str | os.PathLike[str], part: str) -> tuple[list[str], NDArray[np.str_]]:
    """Read ``train.csv`` or ``test.csv``, with a header or with class numbers in the first column."""
    path = Path(folder) / f"{part}.csv"
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; expected a folder with train.csv and test.csv.")
    with closing(read_lines(path)) as lines:
        if has_header(lines, str(path)):
            return load_labelled(path, multilabel=False)
    texts: list[str] = []
    labels: list[str] = []
    for row in numbered_rows(read_lines(path), str(path)):
        texts.append(row.text)
        labels.append(row.labels[0])
    return texts, np.array(labels)


def find_text_set(name: str, folder: str | os.PathLike[str] = "") -> Path:
    """Return the folder of a set on the disk, without a download."""
    homes = [data_home(folder)] if folder else [data_home(), data_home(DEFAULT_DATA_HOME)]
    candidates = list(dict.fromkeys(home / folder_name for home in homes for folder_name in _folder_names(name)))
    for candidate in candidates:
        if has_both_parts(candidate):
            return candidate
    fetch = f" Or download it with sklearn_hashnlp.datasets.fetch_zhang({name!r})." if name in ZHANG_SETS else ""
    raise FileNotFoundError(
        f"The text set {name!r} was not found: none of these is a folder with train.csv and test.csv: "
        f"{', '.join(map(str, candidates))}. Put it there, or name the folder that contains it, for example with the "
        f"environment variable {DATA_VARIABLE}.{fetch}"
    )


def has_both_parts(folder: Path) -> bool:
    """Return whether a folder has ``train.csv`` and ``test.csv``."""
    return all((folder / f"{part}.csv").is_file() for part in PARTS)


def _folder_names(name: str) -> list[str]:
    if name not in ZHANG_SETS:
        return [name]
    archive = ZHANG_SETS[name].archive
    return list(dict.fromkeys([f"{archive}_csv", archive, name, name.replace("-", "_")]))
