"""What a training tells while it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.training._callbacks import LanguageProgress

SENTENCES = ["the cat sat on the mat", "the dog sat on the rug"] * 5  # 70 words with </s>


class Told:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.moves: list[tuple[int, int, str]] = []
        self.callback = LanguageProgress(self.lines.append, lambda *move: self.moves.append(move))


def model(told: Told, **parameters: Any) -> HsigmoidLanguageModel:
    sizes = {"order": 3, "embedding_dim": 4, "hidden_size": 4, "batch_size": 32, "max_epochs": 2, "random_state": 0}
    return HsigmoidLanguageModel(**sizes | parameters, callbacks=[told.callback])


def test_batches_move_and_epochs_tell() -> None:
    told = Told()
    trained = model(told)
    for _ in range(2):  # a second training begins at zero
        told.lines.clear()
        told.moves.clear()
        trained.fit(SENTENCES)
        assert [move[:2] for move in told.moves] == [(n, 140) for n in (0, 32, 64, 70, 70, 102, 134, 140)]
        assert told.moves[0][2] == "Epoch 1/2"
        perplexity = trained.history_[1]["train_perplexity"]
        assert [line.split("   ")[0] for line in told.lines] == ["Epoch 1/2", "Epoch 2/2"]
        assert f"training perplexity {perplexity:.2f}" in told.lines[1]
        text, number = told.moves[-1][2].rsplit(" ", 1)
        assert text == "Epoch 2/2, perplexity"
        assert abs(float(number) / perplexity - 1) < 0.1  # batches of unequal size count the same


def test_the_log_and_validation_are_told() -> None:
    told = Told()
    trained = model(told, log_every=2).fit(SENTENCES, X_valid=SENTENCES[:2])
    assert len(trained.log_) == 2
    assert [line.split("   ")[0] for line in told.lines] == ["  step 2", "Epoch 1/2", "  step 2", "Epoch 2/2"]
    assert all("validation perplexity" in line for line in told.lines)
    assert f"validation perplexity {trained.perplexity(SENTENCES[:2]):.2f}" in told.lines[-1]


def test_epochs_before_an_interruption_count(tmp_path: Path) -> None:
    told = Told()
    model(told, checkpoint_dir=tmp_path, max_epochs=1).fit(SENTENCES)
    told.lines.clear()
    told.moves.clear()
    model(told, checkpoint_dir=tmp_path, max_epochs=3, resume=True).fit(SENTENCES)
    assert [line.split("   ")[0] for line in told.lines] == ["Epoch 2/3", "Epoch 3/3"]
    assert told.moves[0] == (70, 210, "Epoch 2/3")
    assert told.moves[-1][:2] == (210, 210)
