"""SGNNSentenceEncoder trained on one part of a stream after the other."""

from __future__ import annotations

import pytest
from skorch.callbacks import Callback

from sklearn_hashnlp.training import TimeLimit
from tests.sentence_texts import PARAGRAPHS, bytes_of, fitted, make


def test_a_stream():
    encoder = make(callbacks=[TimeLimit(1e-9)], max_epochs=7)
    for _ in range(3):
        assert encoder.partial_fit(iter(PARAGRAPHS)) is encoder
    assert [entry["epoch"] for entry in encoder.history_] == [1, 2, 3]
    losses = [entry["train_loss"] for entry in encoder.history_]
    assert losses[2] < losses[0]
    assert len(encoder.log_) == 3
    common, rare = encoder.net_.module_.network.common, encoder._reader
    before = bytes_of(encoder)
    encoder.partial_fit(["Words that nobody knows. They know nobody."])
    assert bytes_of(encoder) != before
    assert encoder.net_.module_.network.common is common
    assert encoder._reader is rare
    assert bytes_of(make().partial_fit(PARAGRAPHS)) == bytes_of(make(max_epochs=5, n_jobs=2).partial_fit(PARAGRAPHS))


def test_a_stream_goes_on_from_fit():
    first = make().fit(PARAGRAPHS)
    expected = bytes_of(first.partial_fit(PARAGRAPHS[:20]))
    assert [entry["epoch"] for entry in first.history_] == [1, 2, 3]
    assert expected != bytes_of(fitted())
    # The same in another run.
    assert bytes_of(make().fit(PARAGRAPHS).partial_fit(PARAGRAPHS[:20])) == expected
    with pytest.raises(ValueError, match="no word in X"):
        first.partial_fit([""])
    assert bytes_of(first) == expected


def test_a_stream_has_another_order_each_time():
    orders = []

    class Orders(Callback):
        def on_epoch_begin(self, net, **kwargs):
            orders.append([])

        def on_batch_begin(self, net, batch=None, **kwargs):
            orders[-1].append(batch.batch.weights.sum().item())

    encoder = make(callbacks=[Orders()]).fit(PARAGRAPHS)
    for _ in range(2):
        encoder.partial_fit(PARAGRAPHS)
    assert len({tuple(order) for order in orders}) == len(orders) == 4


def test_a_stream_is_watched_by_the_monitor():
    asked = []

    def scoring(encoder):
        asked.append(encoder)
        return 0.0

    encoder = make(scoring=scoring).partial_fit(PARAGRAPHS)
    assert [entry["stage"] for entry in encoder.log_] == ["untrained", "words", "sentences"]
    assert all(one is encoder for one in asked)
