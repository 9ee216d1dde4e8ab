"""The data sets of the benchmarks: labeled rows, their validation rows, and lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from sklearn.model_selection import train_test_split

from sklearn_hashnlp.datasets import load_labelled

T = TypeVar("T")


def sample(items: Sequence[T], size: int | None, seed: int = 0) -> list[T]:
    """Return a random sample in the same order, at most all items."""
    if size is None or size >= len(items):
        return list(items)
    chosen = np.sort(np.random.default_rng(seed).choice(len(items), size, replace=False))
    return [items[index] for index in chosen]


class Rows(NamedTuple):
    """Texts and their labels."""

    texts: list[str]
    labels: list[str]

    def sample(self, size: int | None, seed: int = 0) -> Rows:
        """Return a random sample of the rows in the same order, at most all rows."""
        return Rows(sample(self.texts, size, seed), sample(self.labels, size, seed))


@dataclass(frozen=True)
class LabelledSet:
    """A folder with train.csv and test.csv, each with the columns label and text."""

    validation_file: str | None = None  # None: split off the training rows
    validation_share: float = 0.1
    only_characters: bool = False  # words are useless features, as for language identification


SETS = {
    "ag_news": LabelledSet(),
    "imdb": LabelledSet(),
    "swda": LabelledSet("val.csv"),
    "mrda": LabelledSet("val.csv"),
    "trec": LabelledSet(validation_share=0.2),
    "sst2": LabelledSet("dev.csv"),
    "atis": LabelledSet("valid.csv"),
    "languages79": LabelledSet(only_characters=True),
}

ENGLISH_SETS = ("trec", "sst2", "atis", "swda", "mrda", "ag_news", "imdb")

TITLES = {
    "ag_news": "AG News",
    "imdb": "IMDB",
    "swda": "SwDA",
    "mrda": "MRDA",
    "trec": "TREC",
    "sst2": "SST-2",
    "atis": "ATIS",
    "languages79": "79 languages",
}


@dataclass(frozen=True)
class DataFolder:
    """The folder of the data sets, and the number of rows to read of each file."""

    path: Path
    rows: int | None = None  # size of a random sample of each file, for a test run

    def read(self, name: str, file: str) -> Rows:
        """Read one file of a data set."""
        texts, labels = load_labelled(self.path / name / file, multilabel=False)
        return Rows(texts, labels.tolist()).sample(self.rows)

    def train(self, name: str) -> Rows:
        """Read the training rows."""
        return self.read(name, "train.csv")

    def test(self, name: str) -> Rows:
        """Read the test rows: for the final accuracy only."""
        return self.read(name, "test.csv")

    def train_valid(self, name: str) -> tuple[Rows, Rows]:
        """Return training and validation rows for choosing hyper-parameters, without test rows."""
        train = self.train(name)
        if SETS[name].validation_file is not None:
            return train, self.read(name, SETS[name].validation_file)
        return split(train, SETS[name].validation_share)


def split(rows: Rows, share: float) -> tuple[Rows, Rows]:
    """Split off a share of the rows, stratified by label; a label's only row stays in training."""
    counts = Counter(rows.labels)
    single = [i for i, label in enumerate(rows.labels) if counts[label] == 1]
    others = [i for i, label in enumerate(rows.labels) if counts[label] > 1]
    # at least one row per label
    wanted = max(round(share * len(rows.texts)), len(counts) - len(single))
    chosen, valid = train_test_split(
        others, test_size=wanted, stratify=[rows.labels[i] for i in others], random_state=0
    )
    return _select(rows, sorted(chosen + single)), _select(rows, sorted(valid))


def _select(rows: Rows, indices: Sequence[int]) -> Rows:
    return Rows([rows.texts[i] for i in indices], [rows.labels[i] for i in indices])


def read_text(data: DataFolder, name: str, file: str) -> list[str]:
    """Read the lines of a file that are not blank, or a random sample of them in the same order."""
    text = (data.path / name / file).read_text(encoding="utf-8")
    lines = [line for line in text.split("\n") if line.strip()]
    return sample(lines, data.rows)
