"""What is known of the eight sets of Zhang, Zhao and LeCun (2015): their names, classes and sizes."""

from __future__ import annotations

from typing import NamedTuple

_STARS = ("1", "2", "3", "4", "5")
_POLARITIES = ("negative", "positive")


class ZhangSet(NamedTuple):
    """A set of the paper's; class number i of its files is ``classes[i - 1]``."""

    title: str
    archive: str
    classes: tuple[str, ...]
    n_train: int
    n_test: int

    @property
    def fetch(self) -> str:
        """The name of the function that downloads it."""
        return f"fetch_{self.archive}"


# The keys are the names that the hash-embedding paper's experiments give to the sets.
ZHANG_SETS = {
    "ag": ZhangSet("AG's News", "ag_news", ("World", "Sports", "Business", "Sci/Tech"), 120_000, 7_600),
    "amazon": ZhangSet("Amazon Review Full", "amazon_review_full", _STARS, 3_000_000, 650_000),
    "amazon-polarity": ZhangSet("Amazon Review Polarity", "amazon_review_polarity", _POLARITIES, 3_600_000, 400_000),
    "dbpedia": ZhangSet(
        "DBpedia",
        "dbpedia",
        (
            "Company",
            "EducationalInstitution",
            "Artist",
            "Athlete",
            "OfficeHolder",
            "MeanOfTransportation",
            "Building",
            "NaturalPlace",
            "Village",
            "Animal",
            "Plant",
            "Album",
            "Film",
            "WrittenWork",
        ),
        560_000,
        70_000,
    ),
    "sogou": ZhangSet(
        "Sogou News",
        "sogou_news",
        ("sports", "finance", "entertainment", "automobile", "technology"),
        450_000,
        60_000,
    ),
    "yahoo": ZhangSet(
        "Yahoo! Answers",
        "yahoo_answers",
        (
            "Society & Culture",
            "Science & Mathematics",
            "Health",
            "Education & Reference",
            "Computers & Internet",
            "Sports",
            "Business & Finance",
            "Entertainment & Music",
            "Family & Relationships",
            "Politics & Government",
        ),
        1_400_000,
        60_000,
    ),
    "yelp": ZhangSet("Yelp Review Full", "yelp_review_full", _STARS, 650_000, 50_000),
    "yelp-polarity": ZhangSet("Yelp Review Polarity", "yelp_review_polarity", _POLARITIES, 560_000, 38_000),
}
