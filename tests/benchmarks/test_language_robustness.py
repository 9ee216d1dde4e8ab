"""The benchmark of default language models: its table and its bounds."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def tables():
    return importlib.import_module("benchmarks.language.bench_language_robustness")


def result(end, first=9.0, sentences=300):
    counts = {"add-one unigram": 9.0, "Kneser-Ney unigram": 8.0, "Kneser-Ney bigram": 5.0}
    return {
        "texts": {"ptb": {str(sentences): {"counts": counts, "tree": {"after one epoch": first, "at the end": end}}}}
    }


@pytest.mark.parametrize(
    ("end", "sentences", "bound"),
    [
        (8.0, 300, ""),
        (8.1, 300, "8.0 of the Kneser-Ney unigram"),
        (float("nan"), 300, "Kneser-Ney unigram"),
        (5.25, 3000, ""),
        (5.3, 3000, "1.05 times 5.0 of the Kneser-Ney bigram"),
        (5.0, 10_000, ""),
        (5.1, 10_000, "5.0 of the Kneser-Ney bigram"),
    ],
)
def test_a_cell_that_misses_its_bound_is_named(tables, end, sentences, bound):
    lines = tables.missed(result(end, sentences=sentences))
    assert len(lines) == bool(bound)
    assert all(line.startswith(f"ptb, {sentences:,} sentences, tree: {end} at the end, above ") for line in lines)
    assert all(line.endswith(bound) for line in lines)


def test_the_first_epoch_is_compared_with_the_frequencies_of_the_words(tables):
    assert tables.missed(result(5.0, first=9.1)) == [
        "ptb, 300 sentences, tree: 9.1 after one epoch, above 9.0 of the add-one unigram"
    ]
