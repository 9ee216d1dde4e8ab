"""Folders with train.csv and test.csv: the sets of Zhang, Zhao and LeCun, and those of one's own."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.datasets._labelled import load_labelled
from sklearn_hashnlp.datasets._lines import read_lines
from sklearn_hashnlp.datasets._remote import DATA_VARIABLE, USUAL_FOLDER, data_home
from sklearn_hashnlp.datasets._row_formats import has_header, numbered_rows
from sklearn_hashnlp.datasets._zhang_sets import ZHANG_SETS

PARTS = ("train", "test")


class TextSet(NamedTuple):
    """Labelled texts to train with and to test with: a str label for each text."""

    train_texts: list[str]
    train_labels: NDArray[np.str_]
    test_texts: list[str]
    test_labels: NDArray[np.str_]


def read_text_set(folder: str | os.PathLike[str]) -> TextSet:
    """Read both parts of a set, each from a CSV file in one of two forms."""
    return TextSet(*read_part(folder, "train"), *read_part(folder, "test"))


def read_part(folder: str | os.PathLike[str], part: str) -> tuple[list[str], NDArray[np.str_]]:
    """Read ``"train"`` or ``"test"`` alone: see :func:`read_text_set`."""
    path = Path(folder) / f"{part}.csv"
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; expected a folder with train.csv and test.csv.")
    with closing(read_lines(path)) as lines:
        if has_header(lines, path):
            return load_labelled(path)
    texts: list[str] = []
    labels: list[str] = []
    for row in numbered_rows(read_lines(path), path):
        texts.append(row.text)
        labels.append(row.label)
    return texts, np.array(labels)


def find_text_set(name: str, folder: str | os.PathLike[str] = "") -> Path:
    """Find the folder of a set on the disk; nothing is downloaded."""
    places = [data_home(folder)] if folder else [data_home(), data_home(USUAL_FOLDER)]
    looked_at = list(dict.fromkeys(place / form for place in places for form in _names_of_folder(name)))
    for found in looked_at:
        if has_both_parts(found):
            return found
    some = ", ".join(map(str, looked_at))
    fetch = f" Or download it by sklearn_hashnlp.datasets.{ZHANG_SETS[name].function}()." if name in ZHANG_SETS else ""
    raise FileNotFoundError(
        f"The text set {name!r} was not found: none of these is a folder with train.csv and test.csv: {some}. "
        f"Put it there, or name the folder that it is in, for example by the variable {DATA_VARIABLE}.{fetch}"
    )


def has_both_parts(folder: Path) -> bool:
    """Return whether a folder has ``train.csv`` and ``test.csv``."""
    return all((folder / f"{part}.csv").is_file() for part in PARTS)


def _names_of_folder(name: str) -> list[str]:
    if name not in ZHANG_SETS:
        return [name]
    archive = ZHANG_SETS[name].archive
    return list(dict.fromkeys([f"{archive}_csv", archive, name, name.replace("-", "_")]))
