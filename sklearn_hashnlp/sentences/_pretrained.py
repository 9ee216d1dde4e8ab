"""load_pretrained: sentence encoders whose weights come with the package."""

from __future__ import annotations

import json
from copy import copy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from sklearn_hashnlp.persistence import load_model

if TYPE_CHECKING:  # which refers to this file in saved models
    from sklearn_hashnlp.sentences._distilled_sentence_encoder import DistilledSentenceEncoder

PretrainedName: TypeAlias = Literal["english"]
"""The encoders by name, each a folder beside this file."""

_FOLDER = Path(__file__).parent
_PROVENANCE = "provenance.json"


def load_pretrained(name: PretrainedName = "english") -> DistilledSentenceEncoder:
    """Load a sentence encoder that comes with the package, without a download.

    ``"english"``: learned from the vectors of all-MiniLM-L6-v2, a Transformer, for sentences and
    phrases of English Wikipedia, which had no labels. It has 4 bits per coefficient, 6 MB, and
    neither torch nor a dictionary of words. MODEL_CARD.md in its folder describes what it was
    trained on and how good it is; NOTICE has the licenses.

    Parameters
    ----------
    name : {"english"}, default="english"
        Which encoder.

    Returns
    -------
    DistilledSentenceEncoder
        The fitted encoder. A saved model that contains it stores its name, version and SHA-256
        instead of its weights.

    Raises
    ------
    ValueError
        If there is no encoder of this name.

    Examples
    --------
    >>> from sklearn_hashnlp.sentences import load_pretrained
    >>> encoder = load_pretrained("english")
    >>> near, far = encoder.similarity(
    ...     ["How do I reset my password?"] * 2,
    ...     ["I cannot log in any more.", "Which trains go to Rome?"],
    ... )
    >>> bool(near > far)
    True
    """
    if name not in get_args(PretrainedName):
        raise ValueError(
            f"load_pretrained: there is no encoder {name!r:.60}. Expected one of "
            f"{', '.join(map(repr, get_args(PretrainedName)))}."
        )
    encoder: DistilledSentenceEncoder = copy(_loaded(name))
    return encoder


@cache
def _loaded(name: str) -> Any:
    encoder = load_model(_FOLDER / name)
    encoder._model.reference = _reference(name)
    return encoder


def _reference(name: str) -> dict[str, str]:
    """Return the name, version and SHA-256 of an encoder."""
    provenance = json.loads((_FOLDER / name / _PROVENANCE).read_text(encoding="utf-8"))
    return {"name": name, "version": provenance["version"], "sha256": provenance["sha256"]}


def load_reference(saved: dict[str, str]) -> Any:
    """Return what the encoder has learned that a saved model refers to, if it is the same."""
    model = _loaded(saved["name"])._model
    if model.reference != saved:
        raise ValueError(
            f"The model was trained with version {saved['version']} of the encoder "
            f"{saved['name']!r}, and this version of sklearn-hashnlp comes with version "
            f"{model.reference['version']}. Install the version that saved the model, or train it "
            "again."
        )
    return model
