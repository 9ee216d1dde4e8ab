"""Copies of SGNNSentenceEncoder with every kind of network."""

from __future__ import annotations

import pytest

from sklearn_hashnlp.persistence import load_model, save_model
from tests.sentence_texts import PARAGRAPHS, bytes_of, make

VARIED = [
    {},
    {"objectives__masked_weight": 1.0, "network__n_layers": 2, "network__depths": 2, "init": "random"},
    {"n_tables": 0, "n_components_removed": 0},
    {"context_weight": 0.0},
    {"context_weight": 1.0, "network__pooling": "attention"},
]


@pytest.mark.parametrize("options", VARIED, ids=str)
def test_copies(tmp_path, options):
    encoder = make(**options).fit(PARAGRAPHS)
    save_model(encoder, tmp_path / "bare")
    if options.get("context_weight") == 0.0:
        with pytest.raises(ValueError, match="this model has no training state"):
            save_model(encoder, tmp_path / "folder", training_state=True)
    save_model(encoder, tmp_path / "folder", training_state=options.get("context_weight") != 0.0)
    expected, trained_on = bytes_of(encoder), []
    for other in (load_model(tmp_path / "folder"), load_model(tmp_path / "bare")):
        assert bytes_of(other) == expected
        assert other.get_params() == encoder.get_params()
        for name in ("history_", "log_", "n_parameters_", "waiting_share_"):
            assert getattr(other, name) == getattr(encoder, name)
        trained_on.append(bytes_of(other.partial_fit(PARAGRAPHS[:9])))
    # With what the optimizer has gathered it goes on as the first would.
    assert bytes_of(encoder.partial_fit(PARAGRAPHS[:9])) == trained_on[0]
    assert (trained_on[1] != trained_on[0]) == (options.get("context_weight") != 0.0)
