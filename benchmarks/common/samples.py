"""Random samples of training rows, their options, and the noise in accuracy differences."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.benchmark import BenchmarkParser

ALL = 0  # size: all training rows
SIZES = (250, 1000, 4000, ALL)
_BOOTSTRAPS = 2000


def add_sample_options(parser: BenchmarkParser, sets: Iterable[str]) -> None:
    """Add the options for data sets, numbers of training rows, and seeds."""
    parser.add_choices("--sets", sets)
    parser.add_argument(
        "--sizes",
        nargs="*",
        type=int,
        default=list(SIZES),
        help="training rows, 0 for all (default: %(default)s)",
    )
    parser.add_argument(
        "--seeds", type=int, default=5, help="samples of rows, and trainings (default: %(default)s)"
    )
    parser.add_again()


def bootstrap(lead: NDArray[np.float64]) -> list[float]:
    """Return the 90 % bootstrap interval of the mean of a lead per test row."""
    generator = np.random.default_rng(0)
    means = [
        float(lead[generator.integers(len(lead), size=len(lead))].mean())
        for _ in range(_BOOTSTRAPS)
    ]
    return [float(bound) for bound in np.quantile(means, (0.05, 0.95))]
