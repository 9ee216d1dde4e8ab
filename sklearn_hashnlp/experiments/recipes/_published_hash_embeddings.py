"""Figures that others have published for the hash-embedding experiments."""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """Test accuracies in percent, of one source."""

    source: str  # what it is called in tables
    reference: str  # where the figures stand
    accuracies: dict[str, dict[str, float]]  # by experiment and set


TITLES = {
    "ag": "AG's News",
    "amazon": "Amazon Review Full",
    "dbpedia": "DBpedia",
    "yahoo": "Yahoo! Answers",
    "yelp": "Yelp Review Full",
    "amazon-polarity": "Amazon Review Polarity",
    "yelp-polarity": "Yelp Review Polarity",
    "sogou": "Sogou News",
}

_SETS = ("ag", "amazon", "dbpedia", "yahoo", "yelp", "amazon-polarity", "yelp-polarity")


def _by_set(*figures: float) -> dict[str, float]:
    return dict(zip(_SETS, figures, strict=True))


PUBLISHED = (
    Published(
        "paper",
        "Svenstrup, Hansen and Winther (2017), table 2",
        {
            "hash-embed-nodict": _by_set(92.4, 60.0, 98.5, 72.3, 63.8, 94.4, 95.9),
            "std-embed-nodict": _by_set(92.0, 58.3, 98.6, 72.3, 62.6, 94.2, 95.5),
            "hash-embed-dict": _by_set(91.5, 59.4, 98.7, 71.3, 62.6, 94.7, 95.8),
            "std-embed-dict": _by_set(91.7, 58.5, 98.6, 65.8, 61.4, 93.6, 95.0),
            "ensemble-hash-embed-dict": _by_set(92.0, 60.5, 98.8, 72.9, 62.9, 94.7, 95.7),
        },
    ),
    Published(
        "PyTorch reproduction",
        "https://github.com/YannDubs/Hash-Embeddings, section Results",
        {
            "hash-embed-nodict": _by_set(92.1, 59.1, 98.7, 72.9, 62.5, 94.3, 95.8),
            "std-embed-nodict": _by_set(91.9, 58.8, 98.5, 73.1, 62.1, 94.2, 95.6),
        },
    ),
)


class PublishedTime(NamedTuple):
    """A training time that was published: minutes on a CPU, and the rows of the training file."""

    minutes: float
    n_rows: int


# Of AG's News, from results.txt of the PyTorch reproduction: 1,782 batches of 64 rows an epoch, and 5 % of 120,000 rows
# held out. Its n-grams had 1 to 8 words, by the parameters printed there, and not the 1 to 2 of its table.
PUBLISHED_TIMES = {
    ("hash-embed-nodict", "ag"): PublishedTime(397.9, 120_000),
    ("std-embed-nodict", "ag"): PublishedTime(2463.5, 120_000),
}
