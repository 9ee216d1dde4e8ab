"""The header and the arrays of an exported self-governing neural network."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.classifiers._labels import pack_labels
from sklearn_hashnlp.classifiers._quantized_sgnn_classifier import (
    QuantizedSGNNClassifier,
    quantize_classifier,
)
from sklearn_hashnlp.classifiers._sgnn_classifier import SGNNClassifier
from sklearn_hashnlp.kernels.projections._hyperplanes import QUANTILES, Hyperplanes
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector, SGNNWordProjector


def sgnn_model(pipeline: Any) -> tuple[dict[str, Any], bytes]:
    """Return the header and the arrays, in the order in which the exported file reads them."""
    featurizer, projector, classifier, level = _find_steps(pipeline)
    n_bits = int(projector.n_projections) * int(projector.n_bits)
    _check_steps(featurizer, projector, classifier, n_bits)
    hyperplanes = Hyperplanes.of(
        projector.hyperplanes,
        n_bits,
        density=float(projector.density),
        seed=int(projector.random_state),
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
    parts = [QUANTILES.tobytes()]
    for layer in classifier.layers_:
        last = layer is classifier.layers_[-1]
        factor = layer.scale.astype("<f8") if last else layer.multiplier.astype("<i4")
        parts += [layer.weight.tobytes(), layer.bias.astype("<i8").tobytes(), factor.tobytes()]
    return header, b"".join(parts)


def _find_steps(
    pipeline: Any,
) -> tuple[CharNgramFeaturizer, SGNNProjector, QuantizedSGNNClassifier, str]:
    """Return the steps of a pipeline, and whether texts or words are projected."""
    steps = [step for _, step in pipeline.steps] if isinstance(pipeline, Pipeline) else []
    if steps and isinstance(steps[-1], SGNNClassifier):
        check_is_fitted(steps[-1])
        steps = [*steps[:-1], quantize_classifier(steps[-1])]
    match steps:
        case [
            CharNgramFeaturizer() as featurizer,
            SGNNProjector() as projector,
            QuantizedSGNNClassifier() as last,
        ]:
            level = "document"
        case [SGNNWordProjector() as words, QuantizedSGNNClassifier() as last]:
            featurizer = words.featurizer
            projector = words.projector
            level = "word"
        case _:
            got = (
                ", ".join(type(step).__name__ for step in steps)
                if steps
                else type(pipeline).__name__
            )
            raise TypeError(
                "export_predictor takes a TextClassifier, a Pipeline of HashingNgramVectorizer "
                "and HashEmbeddingClassifier, of CharNgramFeaturizer, SGNNProjector and "
                f"SGNNClassifier, or of SGNNWordProjector and SGNNClassifier; got {got}."
            )
    check_is_fitted(last)
    return featurizer, projector, last, level


def _check_steps(
    featurizer: CharNgramFeaturizer,
    projector: SGNNProjector,
    classifier: QuantizedSGNNClassifier,
    n_bits: int,
) -> None:
    featurizer.fit()  # only checks its parameters
    projector._validate_params()
    if featurizer.norm is not None:
        raise ValueError(
            f"export_predictor: a CharNgramFeaturizer with norm={featurizer.norm!r} cannot be "
            "exported. Set norm=None: the sign of a projection does not depend on the norm of a "
            "row."
        )
    if projector.hyperplanes == "google":
        raise ValueError(
            "export_predictor: an SGNNProjector with hyperplanes='google' cannot be exported. Set "
            "hyperplanes to 'normal' or 'sign', and train again."
        )
    if projector.output == "float":
        raise ValueError(
            "export_predictor: an SGNNProjector with output='float' cannot be exported: its "
            "values have no bounds. Set output to 'binary', and train again."
        )
    n_inputs = classifier.layers_[0].weight.shape[1]
    packed = projector.output == "packed"
    if packed != classifier.packed_ or n_inputs != (-(-n_bits // 8) * 8 if packed else n_bits):
        raise ValueError(
            f"export_predictor: the classifier was trained on {n_inputs} "
            f"{'packed ' * classifier.packed_}columns, and the projector has {n_bits} with "
            f"output={projector.output!r}. Was a parameter changed after fit?"
        )
