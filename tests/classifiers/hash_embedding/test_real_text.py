"""The promises on AG News, on held-out training rows: streams, small models, threads."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from sklearn_hashnlp.classifiers import make_text_classifier
from sklearn_hashnlp.persistence import load_model, save_model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("HASHNLP_DATA" not in os.environ, reason="HASHNLP_DATA names no folder"),
]


@pytest.fixture(name="rows", scope="module")
def _rows():
    with (Path(os.environ["HASHNLP_DATA"]) / "ag_news" / "train.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["text"], row["label"]) for row in csv.DictReader(file)]
    texts, labels = zip(*rows, strict=True)
    return train_test_split(texts, labels, test_size=0.1, stratify=labels, random_state=0)


def test_a_stream_in_twenty_parts_is_as_good_as_one_pass(rows):
    texts, held_out, labels, expected = rows
    whole, streamed = [], []
    for seed in range(3):
        model = make_text_classifier(max_epochs=1, random_state=seed).fit(texts, labels)
        whole.append(100 * model.score(held_out, expected))
        model = make_text_classifier(random_state=seed)
        order = np.random.default_rng(seed).permutation(len(texts))
        for part in np.array_split(order, 20):
            columns = model[0].transform([texts[place] for place in part])
            model[1].partial_fit(columns, [labels[place] for place in part], classes=sorted(set(labels)))
        streamed.append(100 * model.score(held_out, expected))
    assert np.mean(streamed) > np.mean(whole) - 0.5


def test_two_megabytes_hold_nearly_all_of_a_model(rows, tmp_path):
    texts, held_out, labels, expected = rows
    full, small = [], []
    for seed in range(3):
        full.append(100 * make_text_classifier(random_state=seed).fit(texts, labels).score(held_out, expected))
        model = make_text_classifier(n_buckets=300_000, n_embeddings=300_000, random_state=seed).fit(texts, labels)
        save_model(model, tmp_path / str(seed), precision="int8")
        assert sum(path.stat().st_size for path in (tmp_path / str(seed)).iterdir()) <= 2_000_000
        small.append(100 * load_model(tmp_path / str(seed)).score(held_out, expected))
    assert np.mean(small) > np.mean(full) - 0.5
