"""Encoders whose weights come with the package, and what saved models store of them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

PretrainedName: TypeAlias = Literal["english"]
"""The encoders by name, each a folder beside this file."""

_PROVENANCE = "provenance.json"


def folder_of(name: str) -> Path:
    """Return the folder of an encoder, or raise a ValueError for another name."""
    if name not in get_args(PretrainedName):
        raise ValueError(
            f"There is no encoder {name!r:.60} in the package. Expected one of "
            f"{', '.join(map(repr, get_args(PretrainedName)))}."
        )
    return Path(__file__).parent / name


def reference_of(name: str) -> dict[str, str]:
    """Return the name, version and SHA-256 of an encoder."""
    provenance = json.loads((folder_of(name) / _PROVENANCE).read_text(encoding="utf-8"))
    return {"name": name, "version": provenance["version"], "sha256": provenance["sha256"]}


@cache
def loaded_encoder(name: str) -> Any:
    """Load an encoder, once."""
    from sklearn_hashnlp.persistence import load_model  # only here: it takes time

    encoder = load_model(folder_of(name))
    model = encoder._model
    model.reference = reference_of(name)
    for array in (model.mean, model.dictionary.fingerprints, model.dictionary.counts):
        array.setflags(write=False)  # all models share it
    return encoder


def load_reference(saved: dict[str, str]) -> Any:
    """Return what the encoder has learned that a saved model refers to, if it is the same."""
    model = loaded_encoder(saved["name"])._model
    if model.reference != saved:
        mine = f"version {model.reference['version']}"
        if model.reference["version"] == saved["version"]:
            mine = "other weights of that version: their SHA-256 differs"
        raise ValueError(
            f"The model was trained with version {saved['version']} of the encoder "
            f"{saved['name']!r}, and this version of sklearn-hashnlp comes with {mine}. Install "
            "the version that saved the model, or train it again."
        )
    return model
