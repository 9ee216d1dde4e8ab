"""Encoders whose weights come with the package, and what saved models store of them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from sklearn_hashnlp.persistence import load_model

_FOLDER = Path(__file__).parent
_PROVENANCE = "provenance.json"


@cache
def loaded_encoder(name: str) -> Any:
    """Load the encoder of a name, once."""
    encoder = load_model(_FOLDER / name)
    encoder._model.reference = _reference(name)
    return encoder


def _reference(name: str) -> dict[str, str]:
    """Return the name, version and SHA-256 of an encoder."""
    provenance = json.loads((_FOLDER / name / _PROVENANCE).read_text(encoding="utf-8"))
    return {"name": name, "version": provenance["version"], "sha256": provenance["sha256"]}


def load_reference(saved: dict[str, str]) -> Any:
    """Return what the encoder has learned that a saved model refers to, if it is the same."""
    model = loaded_encoder(saved["name"])._model
    if model.reference != saved:
        raise ValueError(
            f"The model was trained with version {saved['version']} of the encoder "
            f"{saved['name']!r}, and this version of sklearn-hashnlp comes with version "
            f"{model.reference['version']}. Install the version that saved the model, or train it "
            "again."
        )
    return model
