"""The classifier of ``hashnlp predict``: without scikit-learn and torch for few texts of a linear model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

# Texts after which the whole classifier is loaded: it predicts twenty times as many a second, and loading it takes the
# time of so many texts.
_MANY_TEXTS = 20_000


def load_predictor(folder: Path) -> Any:
    """Load a text classifier that has classes_, predict_proba and multilabel; with numpy alone where it can be."""
    from sklearn_hashnlp.classifiers.export._linear_predictor import model_of_document
    from sklearn_hashnlp.classifiers.export._standalone_linear import DAMAGE, LinearTextPredictor
    from sklearn_hashnlp.persistence._folder_files import read_folder

    document, arrays = read_folder(folder)
    try:
        predictor = LinearTextPredictor(*model_of_document(document["model"], arrays))
    except (*DAMAGE, ValueError, re.error):  # another kind of model, or a damaged one, which load_model describes
        return _FullClassifier(folder)
    return _LightClassifier(folder, predictor)


class _FullClassifier:
    """A model that is loaded as a whole."""

    def __init__(self, folder: Path) -> None:
        from sklearn_hashnlp.cli._pipelines import is_multilabel, load_classifier

        model = load_classifier(folder)
        self.classes_ = model.classes_
        self.multilabel = is_multilabel(model)
        self.predict_proba = model.predict_proba


class _LightClassifier:
    """A linear model that is computed with numpy, and loaded as a whole when there are many texts."""

    def __init__(self, folder: Path, predictor: Any) -> None:
        self.classes_ = predictor.classes_
        self.multilabel = predictor.multilabel
        self._folder = folder
        self._classifier = predictor
        self._n_texts = 0

    def predict_proba(self, texts: list[str]) -> Any:
        """Estimate class probabilities, the same before and after."""
        if self._n_texts <= _MANY_TEXTS < self._n_texts + len(texts):
            self._classifier = _FullClassifier(self._folder)
        self._n_texts += len(texts)
        return self._classifier.predict_proba(texts)
