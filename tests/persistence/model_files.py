"""Files of a model folder as its author would change them: with the right digest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors.numpy import save_file

from sklearn_hashnlp.persistence._folder_files import METADATA_KEY, digest

WEIGHTS, PARAMETERS = "weights.safetensors", "parameters.json"


def write(
    folder: Path, document: dict[str, Any], arrays: dict[str, Any], text: str | None = None
) -> None:
    """Write a model with the right digest."""
    document = {key: value for key, value in document.items() if key != "digest"}
    document["digest"] = digest(document, arrays)
    folder.mkdir(exist_ok=True)
    text = json.dumps(document) if text is None else text
    (folder / PARAMETERS).write_text(text, encoding="utf-8")
    save_file(arrays, folder / WEIGHTS, metadata={METADATA_KEY: text})


def replace_everywhere(value: Any, name: str, new: Any) -> Any:
    """Replace a parameter or a value of the state, also in the pairs that dicts are stored as."""
    if isinstance(value, list):
        if len(value) == 2 and value[0] == name:
            return [name, new]
        return [replace_everywhere(part, name, new) for part in value]
    if isinstance(value, dict):
        return {
            key: new if key == name else replace_everywhere(part, name, new)
            for key, part in value.items()
        }
    return value
