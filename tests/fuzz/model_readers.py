"""The readers of model folders and of exported predictors, each with samples of their files."""

from __future__ import annotations

import json
import random
import traceback
import warnings
from functools import cache
from pathlib import Path

import sklearn_hashnlp
from sklearn_hashnlp import load_model
from sklearn_hashnlp.classifiers import export_predictor
from sklearn_hashnlp.classifiers.export._standalone_linear import _read_predictor
from sklearn_hashnlp.persistence._folder_files import PARAMETERS_FILE, WEIGHTS_FILE
from sklearn_hashnlp.persistence._model_document import decode_model
from tests.fuzz.models import (
    BUILDERS,
    LABELS,
    PROBES,
    SMALL,
    TEXTS,
    Model,
    change_model,
    read_lightly,
    saved,
    use,
)
from tests.fuzz.mutation import Mutator
from tests.fuzz.readers import Reader, read_input

PACKAGE = Path(sklearn_hashnlp.__file__).parent
_COMMON = ["TextClassifier", "TextClassifier, int8", "HashEmbeddingClassifier", "SGNNClassifier"]
_COMMON += ["QuantizedSGNNClassifier", "LogisticRegression", "HsigmoidLanguageModel"]
_COMMON += ["InterpolatedLanguageModel", "fastText"]


@cache
def folder_reader(name: str, folder: Path) -> Reader:
    """Return the reader of one file of a model folder."""
    saved("TextClassifier", folder)
    fragments = [
        b'"class"',
        b'"parameters"',
        b'"state"',
        b'"dtype"',
        b'"F32"',
        b'"U8"',
        b'"shape"',
        b'"data_offsets"',
    ]
    return Reader(
        lambda path: load_model(path.parent), name, [(folder / name).read_bytes()], fragments
    )


@cache
def weights_reader(folder: Path) -> Reader:
    """Return the reader of the weights of an exported predictor, which then predicts."""
    from sklearn_hashnlp import TextClassifier

    folder.mkdir(exist_ok=True)
    export_predictor(
        TextClassifier(**SMALL, features="words").fit(TEXTS, LABELS), folder / "exported"
    )
    content = (folder / "exported" / "weights.bin").read_bytes()

    def read(path: Path) -> object:
        with warnings.catch_warnings(action="ignore"):  # of overflow, and about patterns
            predictor = _read_predictor(path)
            try:
                return predictor.predict_proba(PROBES)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from error

    return Reader(
        read,
        ".bin",
        [content],
        [b'"arrays"', b'"<f4"', b'"|i1"', b'"<U1000000000"', b"-1", b"[-1, -1]"],
    )


def read_folder_file(name: str, draw: random.Random, folder: Path) -> bool:
    """Read a folder of which one file was changed."""
    reader = folder_reader(name, folder / "model")
    content = Mutator(draw.getrandbits(60), reader.samples, reader.fragments).next()
    path = folder / "changed" / name
    if not path.parent.is_dir():
        path.parent.mkdir()
    for other in (PARAMETERS_FILE, WEIGHTS_FILE):
        if other != name and not (path.parent / other).exists():
            (path.parent / other).write_bytes((folder / "model" / other).read_bytes())
    path.write_bytes(content)
    try:
        load_model(path.parent)
    except ValueError as error:
        if str(path.parent) not in str(error) and name not in str(error):
            raise AssertionError(f"an error without the name of the folder: {error!r}") from error
        return False
    return True


def read_document(draw: random.Random, folder: Path, *, light: bool = False) -> bool:
    """Decode and use a changed model, as its author would change it: with the right digest."""
    name = draw.choice(_COMMON[:2] if light else _COMMON)
    model = saved(name, folder / name)
    if light:
        return read_lightly(draw.getrandbits(60), model, folder / "light")
    document, arrays = _as_read(change_model(draw, model))
    if document is None:
        return False
    try:
        loaded = decode_model(document["model"], arrays)
    except (ValueError, RecursionError):  # the second is one of load_model's own
        return False
    try:
        with warnings.catch_warnings(action="ignore"):  # of overflow, and about names of columns
            use(loaded)
    except ValueError:
        return False
    except RuntimeError as error:
        if "needs a device" not in str(error):
            raise
        return False
    except (TypeError, AttributeError, IndexError, OverflowError) as error:
        # FeatureUnion and joblib check steps and n_jobs by using them.
        if Path(traceback.extract_tb(error.__traceback__)[-1].filename).is_relative_to(PACKAGE):
            raise
        return False
    return True


def _as_read(model: Model) -> Model | tuple[None, None]:
    try:
        return json.loads(json.dumps(model[0])), model[1]
    except (RecursionError, ValueError):
        return None, None


def read_weights(draw: random.Random, folder: Path) -> bool:
    """Read changed weights of an exported predictor."""
    reader = weights_reader(folder)
    content = Mutator(draw.getrandbits(60), reader.samples, reader.fragments).next()
    return read_input(reader, folder / "input.bin", content)


MODEL_READERS = {
    "parameters.json": lambda draw, folder: read_folder_file(PARAMETERS_FILE, draw, folder),
    "weights.safetensors": lambda draw, folder: read_folder_file(WEIGHTS_FILE, draw, folder),
    "model document": read_document,
    "model document, light": lambda draw, folder: read_document(draw, folder, light=True),
    "exported weights": read_weights,
}
assert set(_COMMON) < set(BUILDERS)
