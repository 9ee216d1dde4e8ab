"""The progress of trainings: moves of the bar, and lines of epochs and log entries."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.cli._progress import Progress
from sklearn_hashnlp.training import EarlyStopping, StepLog

ROWS = np.random.RandomState(0).random_sample((24, 8))
LABELS = np.arange(24) % 2
SENTENCES = ["the cat sat on the mat", "the dog sat on the rug"] * 5  # 70 words with </s>


def test_every_batch_moves_the_bar_and_every_epoch_has_a_line() -> None:
    lines: list[str] = []
    moves: list[tuple[int, int, str]] = []
    progress = Progress(lines.append, lambda *move: moves.append(move))
    model = HashEmbeddingClassifier(n_buckets=20, n_embeddings=20, callbacks=[progress], max_epochs=2, batch_size=10)
    for _ in range(2):  # a second training begins at zero
        lines.clear()
        moves.clear()
        model.fit(ROWS, LABELS)
        assert [move[:2] for move in moves] == [(done, 48) for done in (0, 10, 20, 24, 24, 34, 44, 48)]
        assert [line.split("   ")[0] for line in lines] == ["Epoch 1/2", "Epoch 2/2"]
        assert re.fullmatch(r"Epoch 2/2, loss \d+\.\d{4}", moves[-1][2])


def test_the_line_of_an_epoch_has_the_validation_accuracy() -> None:
    lines: list[str] = []
    progress = Progress(lines.append, lambda *_: None)
    parameters = {"callbacks": [progress], "early_stopping": EarlyStopping(validation_fraction=0.3), "max_epochs": 1}
    model = HashEmbeddingClassifier(n_buckets=20, n_embeddings=20, random_state=0, **parameters)
    model.fit(np.tile(ROWS, (4, 1)), np.tile(LABELS, 4))
    assert f"validation accuracy {model.history_[0]['valid_acc']:.4f}" in lines[0]


class Told:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.moves: list[tuple[int, int, str]] = []
        self.callback = Progress(self.lines.append, lambda *move: self.moves.append(move), perplexity=True)


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
    trained = model(told).set_params(callbacks=[StepLog(2), told.callback]).fit(SENTENCES, X_valid=SENTENCES[:2])
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
