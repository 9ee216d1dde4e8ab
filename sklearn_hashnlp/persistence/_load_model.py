"""Load a model from a folder, whole or only for predictions; import scikit-learn when needed."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from sklearn_hashnlp.persistence._folder_files import explained, read_folder

# Only a name, because this folder imports no estimators
_PREDICTOR = "sklearn_hashnlp.classifiers.export._linear_predictor"


def load_model(folder: str | os.PathLike[str], *, predict_only: bool = False) -> Any:
    """Load a model from :func:`save_model` without running code from the folder.

    Only classes of a fixed list are loaded, the classes check their parameters, and the weights are
    plain arrays. A SHA-256 digest over everything detects damage; it does not authenticate the
    author of the model.

    Parameters
    ----------
    folder : str or path-like
        Folder of the model.
    predict_only : bool, default=False
        Whether predictions of few texts are all that is needed. A linear classifier of texts is
        then computed by numpy: it is loaded in a fraction of a second, without scikit-learn and
        torch, and predicts some thousand texts per second, a twentieth of what the whole model
        does. Other models are loaded whole.

    Returns
    -------
    estimator
        The model. Its predictions are bitwise equal to the saved model's if it was saved with
        ``precision="float32"``, and close to them otherwise. With ``predict_only`` a linear
        classifier of texts is an object with ``predict``, ``predict_proba``, ``predict_topk``,
        ``classes_`` and ``multilabel_``.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist or holds no model.
    ModelFormatError
        If the model is incomplete or damaged, if ``parameters.json`` was edited, which would have
        no effect, or if the model was saved in a newer format or with another specification of the
        hash functions.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn_hashnlp import TextClassifier, load_model, save_model
    >>> texts, labels = ["fine and funny", "long and dull"] * 5, ["good", "bad"] * 5
    >>> folder = tempfile.TemporaryDirectory()
    >>> save_model(TextClassifier(random_state=0).fit(texts, labels), folder.name)
    >>> load_model(folder.name)
    TextClassifier(random_state=0)
    >>> load_model(folder.name, predict_only=True).predict(["so funny"]).tolist()
    ['good']
    >>> folder.cleanup()
    """
    document, arrays = read_folder(folder)
    if predict_only:
        predictor = import_module(_PREDICTOR).folder_predictor(document["model"], arrays)
        if predictor is not None:
            return predictor
    from sklearn_hashnlp.persistence._model_document import decode_model

    with explained(folder):
        return decode_model(document["model"], arrays)
