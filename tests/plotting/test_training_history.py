"""The plot of a training history, drawn without a screen."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_hashnlp.plotting import TrainingHistoryDisplay

VALIDATED = [
    {"epoch": 1, "train_loss": 1.5, "valid_loss": 1.25, "valid_acc": 0.5, "dur": 0.1},
    {"epoch": 2, "train_loss": 0.5, "valid_loss": 0.75, "valid_acc": 0.75, "dur": 0.1},
]


class Trained(BaseEstimator):
    def __init__(self, history: Any = None) -> None:
        self.history = history

    def fit(self, X: Any, y: Any = None) -> Trained:
        self.history_ = self.history
        return self


def drawn(ax: Any) -> dict[str, list[float]]:
    return {line.get_label(): line.get_ydata().tolist() for line in ax.lines}


def test_losses_and_accuracy_are_drawn() -> None:
    pipeline = make_pipeline(Trained(VALIDATED)).fit([[0]])
    ax = Figure().subplots()
    display = TrainingHistoryDisplay.from_estimator(pipeline, ax=ax)
    assert display.ax_ is ax
    assert drawn(ax) == {"training loss": [1.5, 0.5], "validation loss": [1.25, 0.75]}
    assert drawn(display.accuracy_ax_) == {"validation accuracy": [0.5, 0.75]}
    assert ax.lines[0].get_xdata().tolist() == [1, 2]
    assert len(ax.get_legend().get_texts()) == 3
    display.figure_.canvas.draw()


def test_wrong_estimators_are_named() -> None:
    with pytest.raises(NotFittedError):
        TrainingHistoryDisplay.from_estimator(Trained())
    with pytest.raises(ValueError, match="Trained has an empty one"):
        TrainingHistoryDisplay.from_estimator(Trained([]).fit([[0]]))
    with pytest.raises(
        ValueError, match=r"history_, such as HashEmbeddingClassifier; LogisticRegression has none"
    ):
        TrainingHistoryDisplay.from_estimator(LogisticRegression().fit([[0], [1]], [0, 1]))


def test_without_matplotlib_the_error_has_the_install_command() -> None:
    program = "import sys; sys.modules['matplotlib'] = None\nimport sklearn_hashnlp.plotting"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert (
        "ImportError: sklearn_hashnlp.plotting needs matplotlib. Install it with: pip install"
        in result.stderr
    )


def test_without_validation_there_is_one_curve() -> None:
    display = TrainingHistoryDisplay.from_estimator(
        Trained([{"train_loss": 1.0}]).fit([[0]]), ax=Figure().subplots()
    )
    assert drawn(display.ax_) == {"training loss": [1.0]}
    assert display.accuracy_ax_ is None
