"""export_predictor: a fitted pipeline as a Python file or folder that depends on numpy only."""

from __future__ import annotations

import ast
import inspect
import json
import os
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers._text_classifier import TextClassifier
from sklearn_hashnlp.classifiers.export import (
    _standalone_common,
    _standalone_encoder,
    _standalone_linear,
    _standalone_sgnn,
)
from sklearn_hashnlp.classifiers.export._encoder_model import (
    Arrays,
    PredictorModel,
    UnsupportedModelError,
    encoders_model,
    fitted_encoder,
    in_precision,
)
from sklearn_hashnlp.classifiers.export._linear_predictor import classifier_model
from sklearn_hashnlp.persistence._atomic_files import errors_naming, replacing, replacing_files
from sklearn_hashnlp.persistence._tables import TABLE_VALUES, Precision
from sklearn_hashnlp.text._ngram_spec import NgramSpec
from sklearn_hashnlp.text._ngram_vector_union import NgramVectorUnion, unfrozen
from sklearn_hashnlp.text._specs_of import specs_of

_COMPRESSION = 9
# Bytes that a string literal in Latin-1 cannot contain, or not in all editors, and the escape byte
# itself.
_ESCAPED = {0, 10, 13, 26, ord('"'), ord("\\"), ord("=")}
_PLACEHOLDER = '_CHECKSUM = 0\n_MODEL = ""\n'
# A comment of _standalone_linear, before functions that name its class.
_MODEL_PART = "# The model of an exported file.\n"
_PROGRAM = "__main__.py"
_MODULE = "__init__.py"
_WEIGHTS = "weights.bin"
_ALIGNMENT = 64
_OWN = "sklearn_hashnlp"

_DOCSTRING = '''\
"""A text classifier that depends on Python and numpy only, exported by sklearn-hashnlp.

    python {path} "some text" "another one"       prints one label per line
    python {path} --proba < texts.txt             reads one text per line, prints labels and \
probabilities
    import model; model.predict(["some text"])      model.predict_proba, model.CLASSES

{about}
"""
'''
_ABOUT_FILE = """\
The weights are the last string, as bytes: copy the file as binary, and do not convert encoding \
or line ends."""
_ABOUT_FOLDER = """\
The weights are in the file weights.bin of this folder."""


def export_predictor(
    pipeline: Pipeline | TextClassifier,
    path: str | os.PathLike[str],
    *,
    precision: Precision = "float32",
) -> int:
    """Write a fitted classifier of texts as a Python file or folder that predicts with numpy only.

    The result is a script (``python model.py "some text"``) and a module with ``predict(texts)``,
    ``predict_proba(texts)`` and ``CLASSES``. It starts without scikit-learn and torch: in a
    fraction of a second, and with less than 60 MB of memory if the model is small. It contains no
    pickle.

    For a classifier of hash embeddings it predicts the same labels, and probabilities within 1e-5.
    A self-governing neural network is quantized to eight bits: the file predicts the labels of
    ``quantize_classifier(pipeline)``.

    Parameters
    ----------
    pipeline : Pipeline or TextClassifier
        Fitted ``TextClassifier``, the pipeline of ``make_text_classifier``, or another pipeline of
        a ``HashingNgramVectorizer`` or scikit-learn's ``HashingVectorizer`` (or a ``FeatureUnion``
        of these) and a ``HashEmbeddingClassifier`` without hidden layers and with any loss but
        ``"hsigmoid"``; vectors of a ``CooccurrenceEncoder`` (``fit(unlabeled=texts)``) and of a
        ``DistilledSentenceEncoder`` (``pretrained``) are exported, too. Or a pipeline of
        ``CharNgramFeaturizer``, ``SGNNProjector`` and a classifier, or of ``SGNNWordProjector`` and
        a classifier, which is an ``SGNNClassifier`` or a ``QuantizedSGNNClassifier``. Featurizers
        with a ``norm``, and projectors with ``hyperplanes="google"`` or ``output="float"``, cannot
        be exported.
    path : str or path-like
        A name that ends with ``.py``, such as ``"model.py"``: the file to write, in which the
        weights are a compressed string. Any other name: a folder, for hash embeddings only, in
        which the weights are a file that the system reads as far as it is used; for models of more
        than some 5 MB. It can be imported and run, too: ``python folder "some text"``. Files of
        these names are replaced once the new ones are complete.
    precision : {"float32", "float16", "int8"}, default="float32"
        Precision of the tables of hash embeddings, as in ``save_model``, with the predictions of a
        model saved with this precision. A self-governing neural network has no tables.

    Returns
    -------
    int
        Size of the file, or of the files in the folder, in bytes.

    Raises
    ------
    TypeError
        If the pipeline is none of these, has another encoder, or a label is not a string, number or
        bool.
    ValueError
        If a parameter is not supported.
    sklearn.exceptions.NotFittedError
        If the classifier was not fitted.
    OSError
        If a file cannot be written.

    See Also
    --------
    quantize_classifier : Quantizes the weights of a self-governing neural network.
    sklearn_hashnlp.persistence.save_model : Saves a model that can be trained further.

    Notes
    -----
    The file is text in Latin-1, with binary data in the last string: copy it as a binary file. A
    checksum detects changes. A self-governing neural network of 1120 bits with hidden layers of 256
    and 256 takes about 340 kB, of 128 and 128 about 160 kB. Of hash embeddings only those rows of
    the tables are stored that were trained.

    Examples
    --------
    >>> import runpy, tempfile
    >>> from sklearn_hashnlp import TextClassifier
    >>> from sklearn_hashnlp.classifiers import export_predictor
    >>> texts = [
    ...     "a fine, funny film",
    ...     "dull and far too long",
    ...     "funny and fine acting",
    ...     "too dull to sit through",
    ... ]
    >>> labels = ["good", "bad", "good", "bad"]
    >>> model = TextClassifier(random_state=0).fit(texts, labels)
    >>> folder = tempfile.TemporaryDirectory()
    >>> export_predictor(model, f"{folder.name}/model.py") < 50_000
    True
    >>> program = runpy.run_path(f"{folder.name}/model.py")
    >>> program["predict"](["fine and funny", "so dull"]).tolist()
    ['good', 'bad']
    >>> folder.cleanup()
    """
    if precision not in get_args(Precision):
        raise ValueError(f"precision must be one of {get_args(Precision)}, got {precision!r}.")
    path = Path(path)
    one_file = path.suffix == ".py"
    steps = _steps_of(pipeline)
    kinds: list[ModuleType]
    if steps and isinstance(steps[-1], HashEmbeddingClassifier):
        header, arrays = _linear_model(steps, precision)
        header["arrays"], content = _lay_out(arrays)
        kinds = [_standalone_linear, *[_standalone_encoder] * ("encoders" in header)]
    else:
        if not one_file:
            raise ValueError(
                "A self-governing neural network is one file: path must end with '.py', got "
                f"{str(path)!r}."
            )
        # Imported only here, because it imports torch.
        from sklearn_hashnlp.classifiers.export._sgnn_predictor import sgnn_model

        header, content = sgnn_model(pipeline)
        kinds = [_standalone_sgnn]
    line = json.dumps(header).encode("ascii")
    if not one_file:
        return _write_folder(path, kinds, line, content)
    source = _assemble(kinds, _DOCSTRING.format(path="model.py", about=_ABOUT_FILE))
    content = zlib.compress(line + b"\n" + content, _COMPRESSION)
    before, after = source.split(_PLACEHOLDER)
    start = f'# -*- coding: latin-1 -*-\n{before}_CHECKSUM = {zlib.crc32(content)}\n_MODEL = "'
    written = start.encode("ascii") + _escape(content) + f'"\n{after}'.encode("ascii")
    with replacing(path) as unfinished:
        unfinished.write_bytes(written)
    return len(written)


def _steps_of(model: Any) -> list[Any]:
    if isinstance(model, TextClassifier):
        check_is_fitted(model)
        model = model.pipeline_
    return [step for _, step in model.steps] if isinstance(model, Pipeline) else []


def _linear_model(steps: list[Any], precision: Precision) -> PredictorModel:
    """Return the model of a vectorizer and a classifier of hash embeddings."""
    names, reason = ", ".join(type(step).__name__ for step in steps), ""
    specs: list[NgramSpec] = []
    vectors: PredictorModel = ({}, {})
    vectorizer = steps[0]
    if isinstance(vectorizer, NgramVectorUnion):
        check_is_fitted(vectorizer)
        encoders = [fitted_encoder(unfrozen(one), precision) for one in vectorizer.encoders]
        vectors = encoders_model(vectorizer.norm_ratio_ * vectorizer.weight_, encoders)
        vectorizer = vectorizer.vectorizer_
    try:
        specs = specs_of(vectorizer) if len(steps) == 2 else []
    except TypeError as error:
        reason = f" {error}"
    except ValueError as error:
        raise ValueError(f"export_predictor: {error}") from error
    if not specs or any(
        spec.scheme != "murmur3" or spec.analyzer == "word_chars" for spec in specs
    ):
        raise TypeError(
            "export_predictor takes a Pipeline of HashingNgramVectorizer or HashingVectorizer, or "
            f"of a FeatureUnion of these, and HashEmbeddingClassifier; got {names}.{reason}"
        )
    state, arrays = steps[-1]._get_model_state()
    for key in [key for key in arrays if key.endswith(TABLE_VALUES)]:
        arrays |= in_precision(key, arrays[key], precision)
    try:
        return classifier_model([spec.to_dict() for spec in specs], vectors, state, arrays)
    except UnsupportedModelError as error:
        raise ValueError(f"export_predictor: {error}.") from error


def _lay_out(arrays: Arrays) -> tuple[list[list[Any]], bytes]:
    """Return names, dtypes, shapes and offsets of arrays, and their bytes."""
    layout: list[list[Any]] = []
    parts: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        stored = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        layout.append([name, stored.dtype.str, list(stored.shape), offset])
        parts.append(stored.tobytes() + b"\0" * (-stored.nbytes % _ALIGNMENT))
        offset += len(parts[-1])
    return layout, b"".join(parts)


def _assemble(kinds: list[ModuleType], docstring: str) -> str:
    """Return the source of a predictor: the common module, and the modules of its kind."""
    imports: set[str] = set()
    bodies = []
    for module in (_standalone_common, *kinds):
        source = inspect.getsource(module)
        last = 0
        for node in ast.parse(source).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                last = node.end_lineno or 0
                text = ast.unparse(node)
                if _OWN not in text and "__future__" not in text:
                    imports.add(text)
        bodies.append("".join(source.splitlines(keepends=True)[last:]).strip("\n"))
    if _standalone_encoder in kinds:  # its class is a subclass, in place of which it is used
        *others, linear, encoder = bodies
        classes, functions = linear.split(_MODEL_PART)
        functions = functions.replace("LinearTextPredictor", "EncodedTextPredictor")
        bodies = [*others, classes.rstrip("\n"), encoder, _MODEL_PART + functions]
    begin = [
        docstring.rstrip("\n"),
        "from __future__ import annotations",
        "\n".join(sorted(imports, key=lambda line: (line.startswith("from"), line))),
    ]
    return "\n\n".join(begin) + "\n\n\n" + "\n\n\n".join(bodies) + "\n"


def _write_folder(folder: Path, kinds: list[ModuleType], header: bytes, content: bytes) -> int:
    """Write a predictor as a folder, the weights last; return the number of bytes."""
    padded = header + b" " * (-(len(header) + 1) % _ALIGNMENT) + b"\n"
    program = _assemble(kinds, _DOCSTRING.format(path="model", about=_ABOUT_FOLDER))
    module = f"from .{Path(_PROGRAM).stem} import __getattr__, predict, predict_proba\n"
    files = {
        _PROGRAM: program.encode("ascii"),
        _MODULE: module.encode("ascii"),
        _WEIGHTS: padded + content,
    }
    if folder.is_file():
        raise FileExistsError(
            f"export_predictor: {str(folder)!r} is a file. Choose a name that ends with '.py' to "
            "write a file, or another name for a folder."
        )
    folder.mkdir(exist_ok=True)
    with errors_naming(folder), replacing_files(folder, list(files)) as unfinished:
        for name, written in files.items():
            (unfinished / name).write_bytes(written)
    return sum(map(len, files.values()))


def _escape(content: bytes) -> bytes:
    table = {
        byte: bytes([ord("="), (byte + 64) % 256]) if byte in _ESCAPED else bytes([byte])
        for byte in range(256)
    }
    return b"".join(table[byte] for byte in content)
