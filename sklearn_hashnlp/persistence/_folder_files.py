"""The two files of a model folder and their checks, without scikit-learn, for fast import."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from sklearn_hashnlp._hash_specification import HASH_SPECIFICATION
from sklearn_hashnlp.persistence._values import ModelFormatError

Arrays = dict[str, NDArray[Any]]

FORMAT = "sklearn-hashnlp model"
FORMAT_VERSION = 5
PARAMETERS_FILE = "parameters.json"
WEIGHTS_FILE = "weights.safetensors"
METADATA_KEY = "sklearn-hashnlp"  # a single key, since safetensors writes keys in random order


def read_folder(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Read and check the document and the arrays of a model folder."""
    folder = Path(folder)
    _check_model_folder(folder)
    document, arrays = _read_weights(folder / WEIGHTS_FILE)
    with explained(folder):
        _check_document(document, arrays)
        _check_copy(folder / PARAMETERS_FILE, document)
    return document, arrays


def _check_model_folder(folder: Path) -> None:
    """Check that a folder has a model, without reading it."""
    if not folder.is_dir():
        reason = "it is a file, not a folder" if folder.exists() else "the folder does not exist"
        raise FileNotFoundError(f"No model in {str(folder)!r}: {reason}.")
    if not (folder / WEIGHTS_FILE).exists():
        if not (folder / PARAMETERS_FILE).exists():
            epochs = sorted(folder.glob("epoch-*"))
            if epochs:
                raise FileNotFoundError(
                    f"{folder} is a checkpoint folder; use one of its epochs, such as {epochs[-1]}."
                )
            raise FileNotFoundError(
                f"No model in {str(folder)!r}: expected {PARAMETERS_FILE} and {WEIGHTS_FILE} there."
            )
        raise ModelFormatError(
            f"{folder / WEIGHTS_FILE} is missing: saving was interrupted or has not finished, or "
            "the copy is incomplete."
        )


@contextmanager
def explained(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Add the folder to errors of its model."""
    try:
        yield
    except ModelFormatError as error:
        raise ModelFormatError(f"The model in {str(folder)!r} cannot be loaded. {error}") from error
    except RecursionError as error:
        raise ModelFormatError(
            f"The model in {str(folder)!r} cannot be loaded. It is nested too deeply."
        ) from error


def write_arrays(arrays: Arrays, path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file, and raise an ``OSError`` if it cannot be written."""
    try:
        save_file(arrays, path, metadata=metadata)
    except SafetensorError as error:
        number = re.search(r"\(os error (\d+)\)", str(error))  # only the message has the number
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error


def _read_weights(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Read the document and arrays from one open file, so that both belong to the same model."""
    check_file(path)
    try:
        with safe_open(path, framework="np") as file:
            text = (file.metadata() or {}).get(METADATA_KEY)
            names = file.keys()  # of a safetensors handle, which is not a dict
            arrays = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFormatError(
            f"{path} is damaged or not a safetensors file of numpy arrays ({error})."
        ) from error
    if text is None:
        raise ModelFormatError(
            f"{path} is not a model of sklearn-hashnlp: its header describes no model."
        )
    try:
        document = _load_json(text)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path} is damaged: its header is not JSON ({error}).") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFormatError(
            f"{path} is not a model of sklearn-hashnlp: its header describes something else."
        )
    return document, arrays


def check_file(path: Path) -> None:
    """Raise an error for links out of the folder, and for devices and pipes that may never end."""
    if path.resolve().parent != path.parent.resolve():
        raise ModelFormatError(
            f"{path} is a link to a file outside of the folder. Copy the file into the folder."
        )
    if path.exists() and not path.is_file():
        raise ModelFormatError(f"{path} is not a regular file.")
    path.open("rb").close()  # raises a specific error, unlike safetensors


def _load_json(text: str) -> Any:
    """Parse JSON without repeated keys, which other programs could read differently."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            keys = [key for key, _ in pairs]
            raise ValueError(
                f"the key {next(key for key in keys if keys.count(key) > 1)!r} is repeated"
            )
        return result

    return json.loads(text, object_pairs_hook=unique)


def _check_document(document: dict[str, Any], arrays: Arrays) -> None:
    """Check the versions and then the digest, which may depend on them."""
    version = document.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFormatError(f"Its format version is {version!r}; expected a positive integer.")
    if version != FORMAT_VERSION:
        message = (
            f"Its format version is {version}, but this version of sklearn-hashnlp reads "
            f"{FORMAT_VERSION}."
        )
        if version < FORMAT_VERSION:
            raise ModelFormatError(f"{message} Train it again.")
        raise ModelFormatError(f"{message} Upgrade with: pip install --upgrade sklearn-hashnlp")
    if document.get("digest") != digest(
        {key: document[key] for key in document if key != "digest"}, arrays
    ):
        raise ModelFormatError(
            f"The digest of {WEIGHTS_FILE} is wrong: the file was damaged or changed. Copy it "
            "again."
        )
    specification = document.get("hash_specification")
    if specification not in (None, HASH_SPECIFICATION):
        raise ModelFormatError(
            f"It was trained with version {specification!r} of the hash functions, but this "
            f"version of sklearn-hashnlp has {HASH_SPECIFICATION!r}, whose hashes differ. Load it "
            "with the version that saved it, or train it again."
        )


def _check_copy(path: Path, document: dict[str, Any]) -> None:
    try:
        check_file(path)
        copy = _load_json(path.read_text(encoding="utf-8"))
    except ModelFormatError:
        raise
    except FileNotFoundError:
        raise ModelFormatError(
            f"{path.name} is missing: the copy of the folder is incomplete."
        ) from None
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path.name} is damaged: it is not JSON ({error}).") from error
    if not isinstance(copy, dict) or "digest" not in copy:
        raise ModelFormatError(f"{path.name} is damaged: it has no digest.")
    if copy["digest"] == document["digest"] and copy != document:
        raise ModelFormatError(
            f"{path.name} was edited. It is a copy for reading; the model has the parameters in "
            f"{WEIGHTS_FILE}. Undo the edit. To change a parameter, load the model, call "
            "set_params and save it again."
        )


def digest(document: dict[str, Any], arrays: Arrays) -> str:
    """Return a digest of document and arrays, independent of the order of arrays in the file."""
    sha = hashlib.sha256(json.dumps(document, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        sha.update(json.dumps([name, array.dtype.name, array.shape]).encode())
        if array.size:  # an empty array has no memory view
            sha.update(array.reshape(-1).view("uint8").data)
    return f"sha256:{sha.hexdigest()}"
