"""Texts that recipes read: files that the user names, or docstrings, which any machine has."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.recipes.text_sets import TextSet, find_text_set, read_text_set
from benchmarks.runner.settings import STDLIB

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ROWS_PER_TEST_ROW = 10  # of texts that are not split
_N_LABELS = 4  # of a trial run on 500 rows, with some rows of each label for validation
_ADDRESS = "http://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz"


def find_text(data: str, name: str, needed: str, folder: Path, *, option: str = "data") -> Path:
    """Return the file or folder that a setting names, or the one of a name in HASHNLP_DATA.

    The standard library's docstrings are written into ``folder``, the folder of the run.
    """
    if data == STDLIB:
        return _write_docstrings(folder / STDLIB) / name.partition("/")[2]
    if data:
        return Path(data)
    if "HASHNLP_DATA" not in os.environ:
        raise ValueError(
            f"{needed}: pass it by --set {option}=PATH, or name it {name} in the folder that the "
            "environment variable HASHNLP_DATA names."
        )
    return Path(os.environ["HASHNLP_DATA"]) / name


def treebank_folder(data: str, recipe: str, folder: Path) -> Path:
    """Return the folder with train.txt, valid.txt and test.txt."""
    files = (
        "its train.txt, valid.txt and test.txt are data/ptb.train.txt, data/ptb.valid.txt and "
        "data/ptb.test.txt"
    )
    return find_text(
        data,
        "ptb",
        f"{recipe} needs a folder with the Penn Treebank ({files} of {_ADDRESS})",
        folder,
    )


def read_sentences(path: Path, n_sentences: int) -> list[str]:
    """Read the first sentences of a file; all if the number is 0."""
    from sklearn_hashnlp._text_files import read_lines

    sentences = list(
        islice((line for line in read_lines(path) if not line.isspace()), n_sentences or None)
    )
    if not sentences:
        raise ValueError(
            f"{path} has no sentences; expected one per line, words separated by spaces."
        )
    return sentences


def find_labeled_texts(dataset: str, data: str) -> TextSet:
    """Read a folder with train.csv and test.csv, or split a tenth off a CSV file or docstrings."""
    if dataset == STDLIB and not data:
        return _split(*_shuffled_docstrings(_N_LABELS))
    if not dataset.endswith(".csv"):
        return read_text_set(find_text_set(dataset, data))
    from sklearn_hashnlp.datasets import load_labelled

    return _split(*load_labelled(Path(data, dataset), multilabel=False))


def _split(texts: list[str], labels: NDArray[np.str_]) -> TextSet:
    import numpy as np

    is_test = np.random.RandomState(0).permutation(len(texts)) < max(
        len(texts) // _ROWS_PER_TEST_ROW, 1
    )
    train, test = (
        [text for text, mask in zip(texts, is_test, strict=True) if mask == kind]
        for kind in (False, True)
    )
    return TextSet(train, labels[~is_test], test, labels[is_test])


def _shuffled_docstrings(n_labels: int) -> tuple[list[str], NDArray[np.str_]]:
    """Return shuffled docstrings of the largest standard library modules, and their modules."""
    import numpy as np

    from sklearn_hashnlp.datasets import load_stdlib_docstrings

    texts, labels = load_stdlib_docstrings(return_X_y=True)
    names, counts = np.unique(labels, return_counts=True)
    rows = np.flatnonzero(np.isin(labels, names[np.argsort(-counts)[:n_labels]]))
    # Another seed than the split's, which would choose the first rows
    np.random.RandomState(1).shuffle(rows)
    return [texts[row] for row in rows], labels[rows]


def _write_docstrings(folder: Path) -> Path:
    """Write paragraphs.txt, a tokenized paragraph per line, and three parts of it."""
    folder.mkdir(exist_ok=True)
    articles = [
        [" ".join(re.findall(r"\w+|[^\w\s]", paragraph)) for paragraph in text.split("\n\n")]
        for text in _shuffled_docstrings(20)[0]
    ]
    (folder / "paragraphs.txt").write_text(
        "\n\n".join(map("\n".join, articles)) + "\n", encoding="utf-8"
    )
    for index, part in enumerate(("train", "valid", "test")):
        lines = [line for article in articles[index::3] for line in article]
        (folder / f"{part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
