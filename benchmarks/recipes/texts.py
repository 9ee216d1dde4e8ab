"""Sentences of the Penn Treebank, for the recipes that read it."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

_ADDRESS = "http://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz"


def find_text(data: str, name: str, needed: str) -> Path:
    """Return the file or folder that a setting names, or the one with a name in the folder of HASHNLP_DATA."""
    if data:
        return Path(data)
    if "HASHNLP_DATA" not in os.environ:
        raise ValueError(
            f"{needed}: pass it by --set data=PATH, or name it {name} in the folder that the environment variable "
            "HASHNLP_DATA names."
        )
    return Path(os.environ["HASHNLP_DATA"]) / name


def treebank_folder(data: str, recipe: str) -> Path:
    """Return the folder with train.txt, valid.txt and test.txt."""
    files = "its train.txt, valid.txt and test.txt are data/ptb.train.txt, data/ptb.valid.txt and data/ptb.test.txt"
    return find_text(data, "ptb", f"{recipe} needs a folder with the Penn Treebank ({files} of {_ADDRESS})")


def read_sentences(path: Path, n_sentences: int) -> list[str]:
    """Read the first sentences of a file; all if the number is 0."""
    from sklearn_hashnlp.datasets._lines import read_lines

    sentences = list(islice((line for line in read_lines(path) if not line.isspace()), n_sentences or None))
    if not sentences:
        raise ValueError(f"{path} has no sentences; expected one per line, words separated by spaces.")
    return sentences
