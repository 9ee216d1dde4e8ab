"""Plots of models and their training with matplotlib.

For a confusion matrix use :class:`sklearn.metrics.ConfusionMatrixDisplay`.
"""

from importlib.util import find_spec

if find_spec("matplotlib") is None:
    raise ImportError(
        "sklearn_hashnlp.plotting needs matplotlib. Install it with: pip install matplotlib"
    )

from sklearn_hashnlp.plotting._reliability import ReliabilityDisplay
from sklearn_hashnlp.plotting._robustness import RobustnessDisplay
from sklearn_hashnlp.plotting._training_history import TrainingHistoryDisplay

__all__ = [
    "ReliabilityDisplay",
    "RobustnessDisplay",
    "TrainingHistoryDisplay",
]
