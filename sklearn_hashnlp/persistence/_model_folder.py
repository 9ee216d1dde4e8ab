"""Saving a model as a folder of two files, and loading it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from sklearn_hashnlp.persistence._model_document import Arrays, decode_model, encode_model
from sklearn_hashnlp.persistence._precision import PRECISIONS
from sklearn_hashnlp.persistence._values import ModelFormatError

FORMAT = "sklearn-hashnlp model"
# Older versions are still read. 1: whole tables and int64 row numbers, all arrays as they are. 2: three parameters of
# SGNNSentenceEncoder by other names.
FORMAT_VERSION = 3
PARAMETERS_FILE = "parameters.json"
WEIGHTS_FILE = "weights.safetensors"

_METADATA_KEY = "sklearn-hashnlp"  # a single one: safetensors writes several in no fixed order
_UNFINISHED = ".saving-"
_SECONDS_TO_FINISH = 3600.0


def save_model(
    model: Any, folder: str | os.PathLike[str], *, precision: str = "float32", training_state: bool = False
) -> None:
    """Save a model as a folder that can be loaded without running code from it.

    The folder holds ``weights.safetensors``, which is the whole model (the arrays, and in its header the classes,
    parameters, seeds and versions), and ``parameters.json``, a copy of that header for people and scripts to read.
    Both are first written elsewhere in the folder and then renamed, the weights last; that one renaming is the
    moment at which the new model replaces the old. So a reader sees the old model or the new one, whole, also while
    a save is under way and after one that was killed.

    Parameters
    ----------
    model : estimator
        A fitted :class:`~sklearn.pipeline.Pipeline` or :class:`~sklearn.pipeline.FeatureUnion`, nested as one likes,
        of this package's estimators and scikit-learn's ``HashingVectorizer`` and ``Normalizer``, or one of them.
    folder : str or path-like
        Where to save. It is made if it does not exist. A model that is there is replaced; other files beside it stay.
    precision : {"float32", "float16", "int8"}, default="float32"
        Of the tables of hash embeddings, which are nearly all of a model. ``"float16"`` takes half the space and
        ``"int8"``, 255 levels a column, a quarter. The loaded model has float32 again; its probabilities differ a
        little from the saved model's and are the same each time. All else (head, parameters) is held exactly.
    training_state : bool, default=False
        Whether the state of the optimizer is saved as well, so that ``partial_fit`` on the loaded model goes on as it
        would have on this one. Only with ``precision="float32"``.

    Raises
    ------
    TypeError
        If the model is of another class, or has a parameter that is code or an object (a function as ``analyzer``,
        ``callbacks``, a ``RandomState``), or that leads to code (``memory``). The message names it. Nothing was
        written then.
    ValueError
        If ``precision`` is none of the three, or not ``"float32"`` where ``training_state`` is asked for; if there is
        no training state, a table has infinite numbers or some too large for float16, or the model is nested too
        deeply. Nothing was written then.
    sklearn.exceptions.NotFittedError
        If the model was not fitted.
    FileExistsError
        If the folder holds something else than a model, or is a file.
    OSError
        If the files cannot be written. A model that was there is still there.

    See Also
    --------
    load_model : Load what was saved.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> from sklearn_hashnlp.persistence import load_model, save_model
    >>> folder = tempfile.TemporaryDirectory()
    >>> save_model(HashingVectorizer(ngram_range=(1, 2)), folder.name)
    >>> load_model(folder.name)
    HashingVectorizer(ngram_range=(1, 2))
    >>> folder.cleanup()
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {PRECISIONS}, got {precision!r}.")
    if training_state and precision != "float32":
        raise ValueError(
            f"A model with rounded tables cannot go on as if nothing had happened: training_state=True needs "
            f"precision='float32', got {precision!r}."
        )
    folder = Path(folder)
    try:
        description, arrays = encode_model(model, precision=precision, training_state=training_state)
    except RecursionError as error:
        raise ValueError("A model folder cannot hold this model: it is nested too deeply.") from error
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "hash_specification": _hash_specification() if arrays else None,
        "model": description,
    }
    document["digest"] = _digest(document, arrays)
    _check_contents(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # Within the folder, and so within its file system, where renaming is atomic.
    unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=folder))
    try:
        parameters, weights = unfinished / PARAMETERS_FILE, unfinished / WEIGHTS_FILE
        parameters.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        save_file(arrays, weights, metadata={_METADATA_KEY: json.dumps(document)})
        weights.chmod(parameters.stat().st_mode)  # safetensors makes files that only their owner can read
        _flush(parameters)
        _flush(weights)
        # This order: where there are weights there are parameters, and stale weights are told by their digest.
        parameters.replace(folder / PARAMETERS_FILE)
        weights.replace(folder / WEIGHTS_FILE)
        _flush(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    _remove_abandoned(folder)


def load_model(folder: str | os.PathLike[str]) -> Any:
    """Load a model that :func:`save_model` saved, without running code from the folder.

    Classes are found by their names in a fixed list, parameters are checked by the classes, and the weights are plain
    arrays with a SHA-256 digest over everything. The digest finds damage; it does not tell who wrote the model.

    Parameters
    ----------
    folder : str or path-like
        The folder.

    Returns
    -------
    estimator
        The model, with predictions equal to the saved one's, bit for bit, if it was saved with
        ``precision="float32"``, and close to them otherwise.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist or holds no model.
    ModelFormatError
        If the model is incomplete or damaged, if ``parameters.json`` was edited, or if the model was saved in a newer
        format or with another specification of the hash functions.

    See Also
    --------
    save_model : Save a model.

    Notes
    -----
    ``weights.safetensors`` decides what the model is. A ``parameters.json`` with another digest is left from a save
    that was interrupted, or belongs to one that is under way, and is passed over. One with the same digest and other
    content was edited by hand and is refused, since the edit would have no effect.

    Examples
    --------
    >>> from sklearn_hashnlp.persistence import load_model
    >>> load_model("no-such-folder")
    Traceback (most recent call last):
        ...
    FileNotFoundError: No model in 'no-such-folder': the folder does not exist.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"No model in {str(folder)!r}: the folder does not exist.")
    if not (folder / WEIGHTS_FILE).exists():
        if not (folder / PARAMETERS_FILE).exists():
            raise FileNotFoundError(
                f"No model in {str(folder)!r}: expected {PARAMETERS_FILE} and {WEIGHTS_FILE} there."
            )
        raise ModelFormatError(
            f"{folder / WEIGHTS_FILE} is missing: saving was interrupted or is under way, or not all was copied."
        )
    document, arrays = _read_weights(folder / WEIGHTS_FILE)
    try:
        _check_document(document, arrays)
        _check_copy(folder / PARAMETERS_FILE, document)
        return decode_model(document["model"], arrays)
    except ModelFormatError as error:
        raise ModelFormatError(f"The model in {str(folder)!r} cannot be loaded. {error}") from error
    except RecursionError as error:
        raise ModelFormatError(f"The model in {str(folder)!r} cannot be loaded. It is nested too deeply.") from error


def _read_weights(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Read everything of a model through one open file, so that it is one model."""
    try:
        with safe_open(path, framework="np") as file:
            text = (file.metadata() or {}).get(_METADATA_KEY)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (a safetensors handle is no dict)
    except (SafetensorError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFormatError(f"{path} is damaged or no safetensors file of numpy arrays ({error}).") from error
    if text is None:
        raise ModelFormatError(f"{path} is no model of sklearn-hashnlp: its header has no description of one.")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path} is damaged: its header is no JSON ({error}).") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFormatError(f"{path} is no model of sklearn-hashnlp: its header describes something else.")
    return document, arrays


def _check_document(document: dict[str, Any], arrays: Arrays) -> None:
    """Check versions first: another version may compute the digest in another way."""
    version = document.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFormatError(f"Its format version is {version!r}, and no version is like that.")
    if version > FORMAT_VERSION:
        raise ModelFormatError(
            f"Its format version is {version}, and this version of sklearn-hashnlp reads up to {FORMAT_VERSION}. "
            "Upgrade with: pip install --upgrade sklearn-hashnlp"
        )
    if document.get("digest") != _digest({key: document[key] for key in document if key != "digest"}, arrays):
        raise ModelFormatError(
            f"The digest of {WEIGHTS_FILE} is wrong: the file was damaged or changed. Copy it again."
        )
    specification = document.get("hash_specification")
    if specification is not None and specification != _hash_specification():
        raise ModelFormatError(
            f"It was trained with version {specification!r} of the hash functions, and this version of sklearn-hashnlp "
            f"has {_hash_specification()!r}: its weights would stand in other places. Load it with the version that "
            "saved it, or train anew."
        )


def _check_copy(path: Path, document: dict[str, Any]) -> None:
    try:
        copy = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelFormatError(f"{path.name} is missing: not all of the folder was copied.") from None
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path.name} is damaged: it is no JSON ({error}).") from error
    if not isinstance(copy, dict) or "digest" not in copy:
        raise ModelFormatError(f"{path.name} is damaged: it has no digest.")
    if copy["digest"] == document["digest"] and copy != document:
        raise ModelFormatError(
            f"{path.name} was edited. It is a copy for reading; the parameters that count are in {WEIGHTS_FILE}. Undo "
            "the edit. To change a parameter, load the model, call set_params and save it again."
        )


def _digest(document: dict[str, Any], arrays: Arrays) -> str:
    """Digest of all that makes the model; the arrays in an order that does not depend on the file's."""
    sha = hashlib.sha256(json.dumps(document, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        sha.update(json.dumps([name, array.dtype.name, array.shape]).encode())
        if array.size:  # an empty array has no bytes, and no memory view either
            sha.update(array.reshape(-1).view("uint8").data)
    return f"sha256:{sha.hexdigest()}"


def _hash_specification() -> Any:
    """Version of the hash functions; looked up when it is needed, since it stands right of this folder."""
    return import_module("sklearn_hashnlp.nn").HASH_SPECIFICATION


def check_replaceable(folder: Path) -> None:
    """Check that a model can be saved: before hours of training rather than after."""
    _check_contents(folder)
    made = [place for place in (folder, *folder.absolute().parents) if not place.exists()]
    try:
        # Done and not asked: what os.access says about root, read-only mounts and network drives is not the truth.
        folder.mkdir(parents=True, exist_ok=True)
        Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=folder)).rmdir()
    except OSError as error:
        raise OSError(error.errno, f"no model can be saved there ({error.strerror})", str(folder)) from error
    finally:
        with suppress(OSError):  # not made, or somebody has put something into it meanwhile
            for place in made:
                place.rmdir()


def _check_contents(folder: Path) -> None:
    """Refuse a folder that holds other things than a model, and a path through a file."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        raise FileExistsError(f"{str(there)!r} is a file. Give a folder to save the model in.")
    if there != folder:
        return
    others = sorted(path.name for path in folder.iterdir() if not path.name.startswith(_UNFINISHED))
    if others and not _is_model(folder):
        raise FileExistsError(
            f"{str(folder)!r} holds {others[0]!r} and no model. Give an empty folder, a new one, or one whose model "
            "may be replaced."
        )


def _is_model(folder: Path) -> bool:
    with suppress(OSError, ValueError, RecursionError):
        copy = json.loads((folder / PARAMETERS_FILE).read_text(encoding="utf-8"))
        if isinstance(copy, dict) and copy.get("format") == FORMAT:
            return True
    with suppress(OSError, SafetensorError), safe_open(folder / WEIGHTS_FILE, framework="np") as file:
        return _METADATA_KEY in (file.metadata() or {})
    return False


def _flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows opens no folders
    descriptor = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_abandoned(folder: Path) -> None:
    """Remove what writers left that were killed. A young one may still be at work."""
    for path in folder.glob(f"{_UNFINISHED}*"):
        with suppress(OSError):
            # The folder's own time stands still while a large file in it grows.
            newest = max(place.stat().st_mtime for place in (path, *path.iterdir()))
            if time.time() - newest > _SECONDS_TO_FINISH:
                shutil.rmtree(path, ignore_errors=True)
