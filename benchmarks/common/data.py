"""The labelled sets that classifiers are compared on, and which of their rows settings are chosen on."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from sklearn_hashnlp.datasets import load_labelled


class Rows(NamedTuple):
    """Texts and their labels."""

    texts: list[str]
    labels: list[str]


@dataclass(frozen=True)
class LabelledSet:
    """A folder with train.csv and test.csv, each with the columns label and text.

    Parameters
    ----------
    choosing_file : str or None
        The file with rows to choose settings on; None takes a share of the training rows.
    choosing_share : float
        That share, stratified by label.
    only_characters : bool
        Whether words mean nothing here, as where the task is to tell languages apart.
    """

    choosing_file: str | None = None
    choosing_share: float = 0.1
    only_characters: bool = False


SETS = {
    "ag_news": LabelledSet(),
    "imdb": LabelledSet(),
    "swda": LabelledSet("val.csv"),
    "mrda": LabelledSet("val.csv"),
    "trec": LabelledSet(choosing_share=0.2),
    "sst2": LabelledSet("dev.csv"),
    "atis": LabelledSet("valid.csv"),
    "languages79": LabelledSet(only_characters=True),
}


@dataclass(frozen=True)
class DataFolder:
    """Where the sets are, and how many rows of each file to read.

    Parameters
    ----------
    path : Path
        The folder that holds a folder for each set.
    rows : int or None
        Read a random choice of so many rows of each file, to try a script out; None reads all.
    """

    path: Path
    rows: int | None = None

    def read(self, name: str, file: str) -> Rows:
        """Read one file of a set."""
        texts, labels = load_labelled(self.path / name / file)
        if self.rows is not None and self.rows < len(texts):
            kept = np.sort(np.random.default_rng(0).choice(len(texts), self.rows, replace=False))
            return Rows([texts[i] for i in kept], labels[kept].tolist())
        return Rows(texts, labels.tolist())

    def train(self, name: str) -> Rows:
        """Read the training rows."""
        return self.read(name, "train.csv")

    def test(self, name: str) -> Rows:
        """Read the test rows: for the final figure only."""
        return self.read(name, "test.csv")

    def choosing(self, name: str) -> tuple[Rows, Rows]:
        """Give the rows to train on and the rows to judge by while settings are chosen; none of them is a test row."""
        train = self.train(name)
        if SETS[name].choosing_file is not None:
            return train, self.read(name, SETS[name].choosing_file)
        return split(train, SETS[name].choosing_share)


def split(rows: Rows, share: float) -> tuple[Rows, Rows]:
    """Hold out a share of the rows, stratified by label; the only row of a label stays in training."""
    counts = Counter(rows.labels)
    single = [i for i, label in enumerate(rows.labels) if counts[label] == 1]
    others = [i for i, label in enumerate(rows.labels) if counts[label] > 1]
    wanted = max(round(share * len(rows.texts)), len(counts) - len(single))  # a row of each label at the least
    kept, held_out = train_test_split(
        others, test_size=wanted, stratify=[rows.labels[i] for i in others], random_state=0
    )
    return _take(rows, sorted(kept + single)), _take(rows, sorted(held_out))


def _take(rows: Rows, places: Sequence[int]) -> Rows:
    return Rows([rows.texts[i] for i in places], [rows.labels[i] for i in places])


def add_data_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("HASHNLP_DATA"),
        help="folder that holds ag_news/ and the other sets, each with train.csv and test.csv of the columns label and "
        "text (default: the variable HASHNLP_DATA)",
    )
    parser.add_argument(
        "--rows", type=int, help="a random choice of so many rows of each file only: to try the script out"
    )


def data_folder(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> DataFolder:
    if arguments.data is None:
        parser.error("name the data folder with --data or in HASHNLP_DATA")
    return DataFolder(Path(arguments.data), arguments.rows)


def read_text(data: DataFolder, name: str, file: str) -> list[str]:
    """Read the lines of a file in which something stands; a random choice, in their order, if not all are wanted."""
    text = (data.path / name / file).read_text(encoding="utf-8")
    lines = [line for line in text.split("\n") if line.strip()]
    if data.rows is None or data.rows >= len(lines):
        return lines
    kept = np.sort(np.random.default_rng(0).choice(len(lines), data.rows, replace=False))
    return [lines[i] for i in kept]
