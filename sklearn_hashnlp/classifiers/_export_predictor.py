"""export_predictor: a fitted pipeline as one Python file that depends on numpy only."""

from __future__ import annotations

import inspect
import json
import os
import tempfile
import zlib
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.classifiers import _standalone_predictor
from sklearn_hashnlp.classifiers._labels import pack_labels
from sklearn_hashnlp.classifiers._quantized_sgnn_classifier import QuantizedSGNNClassifier, quantize
from sklearn_hashnlp.classifiers._sgnn_classifier import SGNNClassifier
from sklearn_hashnlp.kernels import Hyperplanes
from sklearn_hashnlp.kernels._hyperplanes import QUANTILES
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector, SGNNWordProjector

_COMPRESSION = 9
# Bytes that a string literal in Latin-1 cannot contain, or not in all editors, and the escape byte itself.
_ESCAPED = {0, 10, 13, 26, ord('"'), ord("\\"), ord("=")}
_PLACEHOLDER = '_CHECKSUM = 0\n_MODEL = ""\n'


def export_predictor(pipeline: Pipeline, path: str | os.PathLike[str]) -> int:
    """Write a fitted pipeline as a single Python file that predicts with numpy only.

    The file is a script (``python model.py "some text"``) and a module with ``predict(texts)``,
    ``predict_proba(texts)`` and ``CLASSES``. It contains the weights, quantized to eight bits and compressed. It
    predicts the same labels as ``quantize(pipeline)``, for every text.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted pipeline of ``CharNgramFeaturizer``, ``SGNNProjector`` and a classifier, or of ``SGNNWordProjector`` and
        a classifier, which is an ``SGNNClassifier`` or a ``QuantizedSGNNClassifier``. Featurizers with a ``norm``, and
        projectors with ``hyperplanes="google"`` or ``output="float"``, cannot be exported.
    path : str or path-like
        File to write, such as ``"model.py"``. An existing file is replaced once the new one is complete.

    Returns
    -------
    int
        Size of the file in bytes.

    Raises
    ------
    TypeError
        If the pipeline is neither of the two, or a label is not a string, number or bool.
    ValueError
        If a parameter is not supported.
    sklearn.exceptions.NotFittedError
        If the classifier was not fitted.
    OSError
        If the file cannot be written.

    See Also
    --------
    quantize : Quantizes the weights.
    sklearn_hashnlp.persistence.save_model : Saves a model that can be trained further.

    Notes
    -----
    The file is text in Latin-1 whose last string holds binary data: copy it as a binary file. A checksum detects
    changes. A model of 1120 bits with hidden layers of 256 and 256 takes about 340 kB, of 128 and 128 about 160 kB.

    Examples
    --------
    >>> import runpy, tempfile
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_hashnlp import CharNgramFeaturizer, SGNNClassifier, SGNNProjector
    >>> from sklearn_hashnlp.classifiers import export_predictor
    >>> texts = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through"]
    >>> network = SGNNClassifier(hidden_layer_sizes=(128, 128), random_state=0)
    >>> model = make_pipeline(CharNgramFeaturizer(), SGNNProjector(), network)
    >>> model = model.fit(texts, ["good", "bad", "good", "bad"])
    >>> folder = tempfile.TemporaryDirectory()
    >>> export_predictor(model, f"{folder.name}/model.py") < 300_000
    True
    >>> runpy.run_path(f"{folder.name}/model.py")["predict"](["fine and funny", "so dull"]).tolist()
    ['good', 'bad']
    >>> folder.cleanup()
    """
    featurizer, projector, classifier, level = _find_steps(pipeline)
    _check_steps(featurizer, projector, classifier)
    source = inspect.getsource(_standalone_predictor)
    content = zlib.compress(_serialize(featurizer, projector, classifier, level), _COMPRESSION)
    before, after = source.split(_PLACEHOLDER)
    start = f'# -*- coding: latin-1 -*-\n{before}_CHECKSUM = {zlib.crc32(content)}\n_MODEL = "'
    written = start.encode("ascii") + _escape(content) + f'"\n{after}'.encode("ascii")
    _write(Path(path), written)
    return len(written)


def _find_steps(
    pipeline: Any,
) -> tuple[CharNgramFeaturizer, SGNNProjector, QuantizedSGNNClassifier, str]:
    steps = [step for _, step in pipeline.steps] if isinstance(pipeline, Pipeline) else []
    if steps and isinstance(steps[-1], SGNNClassifier):
        check_is_fitted(steps[-1])
        steps = [*steps[:-1], quantize(steps[-1])]
    match steps:
        case [CharNgramFeaturizer() as featurizer, SGNNProjector() as projector, QuantizedSGNNClassifier() as last]:
            level = "document"
        case [SGNNWordProjector() as words, QuantizedSGNNClassifier() as last]:
            featurizer, projector, level = words.featurizer, words.projector, "word"
        case _:
            got = ", ".join(type(step).__name__ for step in steps) if steps else type(pipeline).__name__
            raise TypeError(
                "export_predictor takes a Pipeline of CharNgramFeaturizer, SGNNProjector and SGNNClassifier, or of "
                f"SGNNWordProjector and SGNNClassifier; got {got}."
            )
    check_is_fitted(last)
    return featurizer, projector, last, level


def _check_steps(
    featurizer: CharNgramFeaturizer, projector: SGNNProjector, classifier: QuantizedSGNNClassifier
) -> None:
    featurizer.fit()  # only checks its parameters
    projector._validate_params()
    if featurizer.norm is not None:
        raise ValueError(
            f"export_predictor: a CharNgramFeaturizer with norm={featurizer.norm!r} cannot be exported. Set norm=None: "
            "the sign of a projection does not depend on the norm of a row."
        )
    if projector.hyperplanes == "google":
        raise ValueError(
            "export_predictor: an SGNNProjector with hyperplanes='google' cannot be exported. Set hyperplanes to "
            "'normal' or 'sign', and train again."
        )
    if projector.output == "float":
        raise ValueError(
            "export_predictor: an SGNNProjector with output='float' cannot be exported: its values have no "
            "bounds. Set output to 'binary', and train again."
        )
    n_inputs = classifier.layers_[0].weight.shape[1]
    n_bits = int(projector.n_projections) * int(projector.n_bits)
    packed = projector.output == "packed"
    if packed != classifier.packed_ or n_inputs != (-(-n_bits // 8) * 8 if packed else n_bits):
        raise ValueError(
            f"export_predictor: the classifier was trained on {n_inputs} {'packed ' * classifier.packed_}columns, and "
            f"the projector has {n_bits} with output={projector.output!r}. Was a parameter changed after fit?"
        )


def _serialize(
    featurizer: CharNgramFeaturizer, projector: SGNNProjector, classifier: QuantizedSGNNClassifier, level: str
) -> bytes:
    """Concatenate a JSON header and the arrays, in the order in which the exported file reads them."""
    n_bits = int(projector.n_projections) * int(projector.n_bits)
    hyperplanes = Hyperplanes.of(
        projector.hyperplanes, n_bits, density=float(projector.density), seed=int(projector.random_state)
    )
    header = {
        "level": level,
        "featurizer": {
            "analyzer": featurizer.analyzer,
            "split": featurizer.split,
            "lowercase": bool(featurizer.lowercase),
            "ngram_range": [int(n) for n in featurizer.ngram_range],
            "max_skip": int(featurizer.max_skip),
            "n_features": int(featurizer.n_features),
            "alternate_sign": bool(featurizer.alternate_sign),
            "binary": bool(featurizer.binary),
        },
        "projector": {
            "n": n_bits,
            "hyperplanes": projector.hyperplanes,
            "sign": projector.output == "sign",
            "keys": hyperplanes.keys.tolist(),
            "threshold": hyperplanes.threshold,
        },
        "n_inputs": classifier.layers_[0].weight.shape[1],
        "layers": [[*layer.weight.shape, layer.shift] for layer in classifier.layers_],
        "labels": pack_labels(classifier.classes_),
        "multilabel": classifier._loss.multilabel,
        "link": classifier._loss.link,
        "inverse_temperature": classifier._loss.inverse_temperature,
    }
    parts = [json.dumps(header).encode("ascii"), b"\n", QUANTILES.tobytes()]
    for layer in classifier.layers_:
        last = layer is classifier.layers_[-1]
        factor = layer.scale.astype("<f8") if last else layer.multiplier.astype("<i4")
        parts += [layer.weight.tobytes(), layer.bias.astype("<i8").tobytes(), factor.tobytes()]
    return b"".join(parts)


def _escape(content: bytes) -> bytes:
    table = {byte: bytes([ord("="), (byte + 64) % 256]) if byte in _ESCAPED else bytes([byte]) for byte in range(256)}
    return b"".join(table[byte] for byte in content)


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    unfinished = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        unfinished.chmod(0o666 & ~umask)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
