"""The history of a training: a list, and a table in notebooks; progress bars there."""

import builtins
import json
import pickle
from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp import HashEmbeddingClassifier
from sklearn_hashnlp.training._callbacks import EpochBar
from sklearn_hashnlp.training._estimator import HistoryTable


def test_a_history_is_a_list_and_a_table() -> None:
    entries: list[dict[str, Any]] = [
        {"epoch": 1, "train_loss": 0.123456},
        {"epoch": 2, "<b>": "x&y"},
    ]
    history = HistoryTable(entries)
    assert history == entries
    assert json.loads(json.dumps(history)) == entries
    assert pickle.loads(pickle.dumps(history))._repr_html_() == history._repr_html_()
    html = history._repr_html_()
    assert "<th>epoch</th><th>train_loss</th><th>&lt;b&gt;</th>" in html
    assert "<tr><td>1</td><td>0.1235</td><td></td></tr>" in html
    assert "x&amp;y" in html
    html = HistoryTable({"epoch": epoch} for epoch in range(1000))._repr_html_()
    assert html.count("<tr>") == 62
    assert "... 940 more" in html
    assert "<td>999</td>" in html


def test_histories_of_models_are_displayed() -> None:
    model = HashEmbeddingClassifier(n_buckets=9, n_embeddings=9, max_epochs=2, random_state=0)
    model.fit(np.eye(4), ["a", "b"] * 2)
    assert isinstance(model.history_, HistoryTable)
    assert "train_loss" in model.history_._repr_html_()
    before = model.history_
    model.partial_fit(np.eye(4), ["a", "b"] * 2)
    assert model.history_ is before  # extended, not copied
    assert isinstance(pickle.loads(pickle.dumps(model)).history_, HistoryTable)


class ZMQInteractiveShell:
    """The shell of a notebook, by its name."""


def test_a_progress_bar_in_a_notebook_without_widgets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    assert EpochBar.is_shown()
    model = HashEmbeddingClassifier(n_buckets=9, n_embeddings=9, max_epochs=1, verbose=2)
    model.fit(np.eye(4), ["a", "b"] * 2)
    assert "it/s" in capsys.readouterr().err
