"""Save a model as a folder of two files and a model card."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from safetensors import SafetensorError, safe_open

from sklearn_hashnlp._hash_specification import HASH_SPECIFICATION
from sklearn_hashnlp.persistence._atomic_files import UNFINISHED, check_writable, replacing_files
from sklearn_hashnlp.persistence._folder_files import (
    FORMAT,
    FORMAT_VERSION,
    METADATA_KEY,
    PARAMETERS_FILE,
    WEIGHTS_FILE,
    Arrays,
    digest,
    write_arrays,
)
from sklearn_hashnlp.persistence._model_card import (
    CARD_FILE,
    check_sections,
    is_own_card,
    model_card,
)
from sklearn_hashnlp.persistence._model_document import encode_model
from sklearn_hashnlp.persistence._tables import ModelPrecision


def save_model(
    model: Any,
    folder: str | os.PathLike[str],
    *,
    precision: ModelPrecision = "float32",
    training_state: bool = False,
    card: Mapping[str, Mapping[str, Any]] | None = None,
    dry_run: bool = False,
) -> None:
    """Save a model as a folder that can be loaded without running code from it.

    The folder holds ``weights.safetensors``, the complete model (the arrays, and in its header the
    classes, parameters, seeds and versions); ``parameters.json``, a copy of that header for people
    and scripts to read; and ``README.md``, a model card. Saving is atomic: readers always load
    either the old or the new model, even during a save or after a killed one.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package, or a :class:`~sklearn.pipeline.Pipeline` or
        :class:`~sklearn.pipeline.FeatureUnion`, nested or not, of them and scikit-learn's
        ``HashingVectorizer`` and ``Normalizer``.
    folder : str or path-like
        Folder to save the model in; created if it does not exist. A model in it is replaced; other
        files are kept.
    precision : {"float32", "float16", "int8", "int4"}, default="float32"
        Precision of the tables of hash embeddings, which are most of a model. ``"float16"`` needs
        half the space and ``"int8"``, with 255 levels per column, a quarter. The loaded model has
        float32 again; its probabilities differ slightly from the saved model's, and are the same at
        each load. Everything else is stored exactly. ``"int4"``, with 15 levels per row and a scale
        that clips 1 % of its numbers, an eighth, is for
        :class:`~sklearn_hashnlp.sentences.DistilledSentenceEncoder` and
        :class:`~sklearn_hashnlp.sentences.CooccurrenceEncoder` alone, which compute with these
        levels; loaded, they keep them, and save them exactly with any precision.
    training_state : bool, default=False
        Whether to save the state of the optimizer as well, so that ``partial_fit`` continues on the
        loaded model as it would on this one. Only with ``precision="float32"``.
    card : dict of str to dict or None, default=None
        Additional sections of the model card, such as the data and the accuracy: tables of names
        and values by their titles. A ``README.md`` that was not written by this function is kept.
    dry_run : bool, default=False
        Whether to check only that the model, which need not be fitted, and the folder can be
        saved, and to write nothing: before a long training. With ``model=None`` the folder alone.

    Raises
    ------
    TypeError
        If the model is of another class, or has a parameter that is code or an object (a function
        as ``analyzer``, ``callbacks``, a ``RandomState``), or a folder of pickles (``memory``). The
        message names it.
    FileExistsError
        If the folder holds other files but no model, or is a file.
    OSError
        If the folder cannot be written.
    ValueError
        If the model has tables that are not stored with this precision, or infinite values.

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
    if precision not in get_args(ModelPrecision):
        raise ValueError(f"precision must be one of {get_args(ModelPrecision)}, got {precision!r}.")
    if training_state and precision != "float32":
        raise ValueError(
            f"training_state=True needs precision='float32', got {precision!r}: with rounded "
            "tables, training would not continue exactly."
        )
    check_sections(card)
    folder = Path(folder)
    if dry_run:
        if model is not None:
            encode_model(model, fitted=False)
        _check_replaceable(folder)
        return
    try:
        description, arrays = encode_model(
            model, precision=precision, training_state=training_state
        )
    except RecursionError as error:
        raise ValueError(
            "A model folder cannot hold this model: it is nested too deeply."
        ) from error
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "hash_specification": HASH_SPECIFICATION if arrays else None,
        "model": description,
    }
    document["digest"] = digest(document, arrays)
    _check_contents(folder)
    try:
        _write_files(folder, document, arrays, model_card(model, arrays, precision, card))
    except OSError as error:
        raise OSError(
            error.errno, f"the model cannot be saved there ({error.strerror})", str(folder)
        ) from error


def _write_files(folder: Path, document: dict[str, Any], arrays: Arrays, card: str) -> None:
    """Write the files under temporary names, and rename them."""
    folder.mkdir(parents=True, exist_ok=True)
    cards = [CARD_FILE] if is_own_card(folder / CARD_FILE) else []
    # The weights last, so that a folder with weights has parameters; the digest detects a
    # difference. The parameters first, since they mark a folder as a model.
    with replacing_files(folder, [PARAMETERS_FILE, *cards, WEIGHTS_FILE]) as unfinished:
        if cards:
            (unfinished / CARD_FILE).write_text(card, encoding="utf-8", newline="\n")
        parameters, weights = unfinished / PARAMETERS_FILE, unfinished / WEIGHTS_FILE
        parameters.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        write_arrays(arrays, weights, {METADATA_KEY: json.dumps(document)})
        # safetensors writes files that are only readable by their owner
        weights.chmod(parameters.stat().st_mode)


def _check_replaceable(folder: Path) -> None:
    """Check that a model can be saved in a folder."""
    _check_contents(folder)
    created = [path for path in (folder, *folder.absolute().parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_writable(folder)
    except OSError as error:
        raise OSError(
            error.errno, f"no model can be saved there ({error.strerror})", str(folder)
        ) from error
    finally:
        with suppress(OSError):  # not created, or no longer empty
            for path in created:
                path.rmdir()


def _check_contents(folder: Path) -> None:
    """Raise an error for a folder with other files but no model, and for a path through a file."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise FileExistsError(f"{str(existing)!r} is a file. Choose a folder to save the model in.")
    if existing != folder:
        return
    others = sorted(path.name for path in folder.iterdir() if not path.name.startswith(UNFINISHED))
    if others and not _is_model(folder):
        raise FileExistsError(
            f"{str(folder)!r} holds {others[0]!r} but no model. Choose a new or empty folder, or "
            "one with a model to replace."
        )


def _is_model(folder: Path) -> bool:
    with suppress(OSError, ValueError, RecursionError):
        copy = json.loads((folder / PARAMETERS_FILE).read_text(encoding="utf-8"))
        if isinstance(copy, dict) and copy.get("format") == FORMAT:
            return True
    with (
        suppress(OSError, SafetensorError),
        safe_open(folder / WEIGHTS_FILE, framework="np") as file,
    ):
        return METADATA_KEY in (file.metadata() or {})
    return False
