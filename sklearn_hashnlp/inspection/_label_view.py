"""The content of a label's explanation that is displayed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class NgramRow(NamedTuple):
    """An n-gram in the table of a label."""

    value: float  # its contribution
    ngram: str
    kind: str  # "" if all n-grams are of one kind
    n_times: int
    shared_with: tuple[str, ...]


class LabelView(NamedTuple):
    """The score of a label, the text with a weight for each character, and the most important n-grams."""

    name: str
    score: float
    probability: float | None
    bias: float
    text: str
    weights: NDArray[np.float64]  # (n_characters,)
    rows: list[NgramRow]
    n_more: int  # number of n-grams that are not in the rows
    value_of_more: float  # sum of their contributions

    @property
    def shares(self) -> NDArray[np.float64]:
        """The weights of the characters divided by the largest magnitude."""
        return self.weights / (float(np.abs(self.weights).max(initial=0.0)) or 1.0)

    def length(self, row: NgramRow) -> float:
        """Return the length of the bar of a row, relative to the longest."""
        return abs(row.value) / (max(abs(other.value) for other in self.rows) or 1.0)


def label_name(label: object) -> str:
    """Format a label, or a list of labels."""
    return ", ".join(map(str, label)) or "no label" if isinstance(label, list) else str(label)
