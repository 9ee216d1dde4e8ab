"""The register of golden configurations, and the frozen texts that all of them read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

DATA = Path(__file__).parent / "data"
DIGESTS = DATA / "digests.json"
# the environment variable that says how many threads a configuration may use
THREADS = "GOLDEN_THREADS"

Arrays: TypeAlias = dict[str, Any]
"""Name -> array or CSR matrix."""


Kind: TypeAlias = Literal["exact", "trained"]


class Configuration(NamedTuple):
    """A function that computes arrays, and where they are the same.

    ``"exact"``: integers and sums in a fixed order, the same in every bit on every machine; their
    digests are stored. ``"trained"``: learned in floating-point numbers, the same in every bit on
    one machine alone. Rounding in other places may be enlarged there, so nothing is stored: only
    commits are compared, on one machine.
    """

    kind: Kind
    compute: Callable[[], Arrays]


CONFIGURATIONS: dict[str, Configuration] = {}


def golden(kind: Kind) -> Callable[[Callable[[], Arrays]], Callable[[], Arrays]]:
    """Enter a function into the register under its own name."""

    def enter(compute: Callable[[], Arrays]) -> Callable[[], Arrays]:
        assert compute.__name__ not in CONFIGURATIONS
        CONFIGURATIONS[compute.__name__] = Configuration(kind, compute)
        return compute

    return enter


def golden_table(
    kind: Kind, compute: Callable[..., Arrays], table: dict[str, dict[str, Any]]
) -> None:
    """Enter one function with several settings, by name."""
    for name, settings in table.items():
        assert name not in CONFIGURATIONS
        CONFIGURATIONS[name] = Configuration(kind, partial(compute, **settings))


def n_jobs() -> int:
    """Return the number of threads that estimators with ``n_jobs`` are given."""
    return int(os.environ.get(THREADS, "1"))


@cache
def _docstrings() -> list[tuple[str, str]]:
    """Return (label, docstring) pairs: 320 docstrings of Python's standard library, 40 of each of
    eight modules.
    """
    return [
        (label, text)
        for label, text in json.loads((DATA / "docstrings.json").read_text(encoding="utf-8"))
    ]


def texts() -> list[str]:
    """Return the docstrings; they belong to Python and are under the PSF License Agreement."""
    return [text for _, text in _docstrings()]


def labels() -> NDArray[np.str_]:
    """Return the module of each docstring."""
    return np.array([label for label, _ in _docstrings()])


def sentences() -> list[str]:
    """Return the first paragraph of each docstring, in lowercase, for language models."""
    return [" ".join(text.split("\n\n")[0].lower().split()) for text in texts()]


# Scripts, marks, blanks and lengths that English docstrings lack.
UNUSUAL = [
    "",
    " \t\n ",
    "Ein Übermaß an Straßen, naïve Café-Besucher: ﬁn",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "今日は晴れ。明日は雨。",
    "مرحبا بالعالم",
    "ไม่เป็นไร",
    "emoji 🙂👍🏽 e\u0301 \u00e9 \x00 nul",
    "a",
    "A b C d? It's 3.50 -- i.e. $3,50 (or 4)!",
    "the the the The THE of of And",
    "x" * 300,
]


def indicator(names: NDArray[np.str_]) -> NDArray[np.int64]:
    """Return a matrix of several labels a text: its module, and whether it is long."""
    own = (names[:, None] == np.unique(names)).astype(np.int64)
    long = np.array([len(text) > 200 for text in texts()], dtype=np.int64)
    return np.column_stack([own, long])


def sparse_arrays(matrix: csr_matrix) -> Arrays:
    """Return the three arrays of a CSR matrix, its indices as int64, and its shape."""
    return {
        "data": matrix.data,
        "indices": matrix.indices.astype(np.int64),
        "indptr": matrix.indptr.astype(np.int64),
        "shape": np.array(matrix.shape, dtype=np.int64),
    }
