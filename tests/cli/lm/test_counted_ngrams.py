"""Counted n-grams from the shell: a folder for machines, an ARPA file for other toolkits."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp import KneserNeyLanguageModel

RNG = np.random.default_rng(0)
FOLLOWERS = [RNG.choice(300, 6) for _ in range(300)]


def _sentences(n_sentences):
    """Return sentences in which each word has six followers, some more frequent."""
    sentences = []
    for _ in range(n_sentences):
        word, words = int(RNG.integers(300)), []
        for _ in range(8):
            words.append(f"w{word}")
            word = int(FOLLOWERS[word][min(RNG.geometric(0.4), 6) - 1])
        sentences.append(" ".join(words))
    return sentences


TRAIN, TEST = _sentences(1500), _sentences(200)


def test_a_model_moves_between_machines_as_a_folder_and_between_toolkits_as_a_file(tmp_path, hashnlp):
    (tmp_path / "train.txt").write_text("\n".join(TRAIN))
    (tmp_path / "test.txt").write_text("\n".join(TEST))
    counts = ("--model-type", "kneser-ney", "--order", 3)
    trained = hashnlp(
        "lm", "train", tmp_path / "train.txt", "-m", tmp_path / "lm", *counts, "--arpa", tmp_path / "lm.arpa"
    )
    assert trained.code == 0, trained.err
    from_folder, from_file = (
        hashnlp("lm", "score", "-m", tmp_path / name, tmp_path / "test.txt", "--perplexity", "--quiet").out
        for name in ("lm", "lm.arpa")
    )
    assert from_folder == from_file
    assert float(from_file) == pytest.approx(KneserNeyLanguageModel(order=3).fit(TRAIN).perplexity(TEST), abs=1e-3)
