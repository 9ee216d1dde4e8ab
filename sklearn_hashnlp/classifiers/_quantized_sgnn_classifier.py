"""QuantizedSGNNClassifier: an SGNN classifier with weights of eight bits and integer arithmetic."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from sklearn_hashnlp._sklearn import fit_context
from sklearn_hashnlp.classifiers._base import ScoringClassifier
from sklearn_hashnlp.classifiers._losses import loss_from_values, loss_to_values
from sklearn_hashnlp.classifiers._sgnn_classifier import SGNNClassifier
from sklearn_hashnlp.classifiers.sgnn._integer_layers import (
    IntegerLayer,
    check_layers,
    integer_layers,
    integer_scores,
)

_BATCH_SIZE = 4096
_LAYER_ARRAYS = ("weight", "bias", "multiplier", "scale")
_DTYPES = [np.float64, np.float32, np.uint8, np.int8, np.bool_]


class PartSize(NamedTuple):
    """Size of a part of a model, in bytes."""

    part: str  # name; of the last part of a report ``"total"``
    before: int  # bytes in the trained network, of float32 weights
    after: int  # bytes in the quantized one


class QuantizedSGNNClassifier(ScoringClassifier):
    """Classify projected rows by a network with weights quantized to eight bits after training.

    Each output of each layer has its own scale; the standardization of columns is folded into the
    first layer. All arithmetic is on integers (see Notes), so that predictors in any language on
    any machine can predict the same labels. :func:`quantize_classifier` converts a fitted
    classifier; ``fit`` trains and then quantizes.

    Parameters
    ----------
    estimator : SGNNClassifier or None, default=None
        The classifier to train; None is ``SGNNClassifier()``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if they were all strings.
    layers_ : tuple of IntegerLayer
        The quantized layers.
    packed_ : bool
        Whether rows are packed bits, eight per uint8.

    See Also
    --------
    export_predictor : Writes a predictor as one file.

    Notes
    -----
    Rows are numbers from -1 to 1: bits, signs, packed bits, or means of bits or signs. Other rows
    raise an error, such as the projections of ``SGNNProjector(output="float")``.

    Rows are converted to integers q, 1 to 4096. A layer computes
    ``a[k] = bias[k] + sum_j weight[k, j] q[j]``; the input of the next layer is
    ``max(0, (a[k] multiplier[k] + 2**(shift - 1)) >> shift)``, with one ``shift`` per layer; a
    score of the last layer is ``a[k] scale[k]``, the only product that is not of integers. The
    predicted label has the largest score, the first in a tie. The scales need no calibration data,
    and nothing overflows or saturates.

    References
    ----------
    Jacob et al. (2018). Quantization and training of neural networks for efficient
    integer-arithmetic-only inference. CVPR, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_hashnlp.classifiers import (
    ...     QuantizedSGNNClassifier,
    ...     SGNNClassifier,
    ... )
    >>> bits = np.random.default_rng(0).integers(
    ...     0, 2, (200, 64), dtype=np.uint8
    ... )
    >>> labels = np.where(bits[:, :3].sum(axis=1) > 1, "on", "off")
    >>> network = SGNNClassifier(
    ...     hidden_layer_sizes=(32,), max_epochs=60, random_state=0
    ... )
    >>> model = QuantizedSGNNClassifier(network).fit(bits, labels)
    >>> model.score(bits, labels) > 0.9
    True
    >>> model.size_report()[-1]
    PartSize(part='total', before=9104, after=2528)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"estimator": [SGNNClassifier, None]}
    _text_classifier: ClassVar[str] = (
        "make_pipeline(CharNgramFeaturizer(), SGNNProjector(), QuantizedSGNNClassifier())"
    )

    def __init__(self, estimator: SGNNClassifier | None = None) -> None:
        self.estimator = estimator

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train a clone of ``estimator`` and quantize its weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of numbers from -1 to 1; with ``packed`` an array of uint8.
        y : array-like of shape (n_samples,), or \
                {array-like, sparse matrix} of shape (n_samples, n_classes)
            Labels, as ``SGNNClassifier`` takes them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : QuantizedSGNNClassifier
            The fitted classifier.

        Raises
        ------
        TypeError, ValueError, RuntimeError
            As :meth:`SGNNClassifier.fit`; ValueError also for numbers below -1 or above 1.
        """
        self._refuse_texts(X)
        estimator = SGNNClassifier() if self.estimator is None else clone(self.estimator)
        if not estimator.packed:
            self._check_range(validate_data(estimator, X, dtype=_DTYPES))  # before the training
        try:
            estimator.fit(X, y, sample_weight=sample_weight)
        finally:
            if hasattr(estimator, "net_"):  # an interrupt leaves it fitted, an error does not
                self._quantize(estimator)
        return self

    def size_report(self) -> list[PartSize]:
        """Return the size of each part before and after quantization.

        Returns
        -------
        list of PartSize
            The parts in order, and the total.
        """
        check_is_fitted(self)
        first = self.layers_[0].weight
        # float64 means and a scale
        report = [PartSize("standardization", 8 * (first.shape[1] + 1), 0)]
        for number, layer in enumerate(self.layers_, 1):
            last = number == len(self.layers_)
            rescaling = layer.scale.nbytes if last else layer.multiplier.nbytes
            report += [
                PartSize(f"layer {number} weights", 4 * layer.weight.size, layer.weight.nbytes),
                PartSize(
                    f"layer {number} biases and scales",
                    4 * layer.bias.size,
                    layer.bias.nbytes + rescaling,
                ),
            ]
        return [
            *report,
            PartSize(
                "total", sum(part.before for part in report), sum(part.after for part in report)
            ),
        ]

    def _quantize(self, estimator: SGNNClassifier) -> None:
        module = estimator.net_.module_
        linear = [layer for layer in module.head if isinstance(layer, nn.Linear)]
        weights = [layer.weight.detach().cpu().double().numpy() for layer in linear]
        biases = [layer.bias.detach().cpu().double().numpy() for layer in linear]
        weights[0] = weights[0] / float(module.standardize.scale)
        # By numpy's elementwise product and sum: results of a BLAS library's matrix product depend
        # on the machine.
        biases[0] = biases[0] - (weights[0] * module.standardize.mean.cpu().numpy()).sum(axis=1)
        self.layers_: tuple[IntegerLayer, ...] = integer_layers(weights, biases)
        self.packed_ = bool(module.packed)
        self.classes_, self._label_lists = estimator.classes_, estimator._label_lists
        self.n_features_in_ = estimator.n_features_in_
        if hasattr(estimator, "feature_names_in_"):
            self.feature_names_in_ = estimator.feature_names_in_
        self._loss = estimator._loss

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        self._refuse_texts(X)
        X = validate_data(
            self, X, dtype=None if self.packed_ else _DTYPES, ensure_min_samples=0, reset=False
        )
        if not self.packed_:
            self._check_range(X)
        elif X.dtype != np.uint8:
            raise ValueError(
                f"{type(self).__name__} was trained with packed=True and takes rows of bytes, an "
                f"array of uint8, got one of {X.dtype}. Pack bits by numpy.packbits(bits, axis=1)."
            )
        scores = [np.empty((0, len(self.classes_)))]
        for start in range(0, len(X), _BATCH_SIZE):
            rows = X[start : start + _BATCH_SIZE]
            rows = np.unpackbits(rows, axis=1) if self.packed_ else rows
            scores.append(integer_scores(self.layers_, rows.astype(np.float64)))
        return np.concatenate(scores)

    def _check_range(self, X: NDArray[Any]) -> None:
        lowest, highest = X.min(initial=0) + 0.0, X.max(initial=0) + 0.0  # + 0.0 turns -0 into 0
        if lowest < -1 or highest > 1:
            raise ValueError(
                f"{type(self).__name__} takes rows of numbers from -1 to 1 (bits, signs, or means "
                f"of them), got numbers from {lowest:g} to {highest:g}. Set the projector's output "
                "to 'binary' or 'sign', or to 'packed' with a classifier of packed=True, and "
                "train again."
            )

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        check_is_fitted(self)
        values = self._pack_labels() | {
            "packed": self.packed_,
            "shifts": [layer.shift for layer in self.layers_],
        }
        values |= loss_to_values(self._loss)
        arrays = {
            f"layers.{index}.{name}": getattr(layer, name)
            for index, layer in enumerate(self.layers_)
            for name in _LAYER_ARRAYS
        }
        return values, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.layers_ = tuple(
            IntegerLayer(
                shift=int(shift),
                **{name: arrays[f"layers.{index}.{name}"] for name in _LAYER_ARRAYS},
            )
            for index, shift in enumerate(values["shifts"])
        )
        self.packed_ = bool(values["packed"])
        self._unpack_labels(values)
        self._loss = loss_from_values(values)
        check_layers(
            self.layers_, self.n_features_in_ * (8 if self.packed_ else 1), len(self.classes_)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.classifier_tags.multi_label = get_tags(self.estimator).classifier_tags.multi_label
        return tags


def quantize_classifier(model: SGNNClassifier | Pipeline) -> Any:
    """Quantize the weights of a fitted classifier to eight bits.

    Parameters
    ----------
    model : SGNNClassifier or Pipeline
        Fitted; a pipeline must end in an ``SGNNClassifier``. It is not changed.

    Returns
    -------
    QuantizedSGNNClassifier or Pipeline
        The quantized classifier; or a pipeline of the same transformers and the quantized
        classifier.

    Raises
    ------
    TypeError
        If ``model`` is anything else.
    ValueError
        If a weight is infinite or not a number.
    sklearn.exceptions.NotFittedError
        If the classifier was not fitted.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_hashnlp import (
    ...     CharNgramFeaturizer,
    ...     SGNNClassifier,
    ...     SGNNProjector,
    ... )
    >>> from sklearn_hashnlp.classifiers import quantize_classifier
    >>> texts = [
    ...     "a fine, funny film",
    ...     "dull and far too long",
    ...     "funny and fine acting",
    ...     "too dull to sit through",
    ... ]
    >>> labels = ["good", "bad", "good", "bad"]
    >>> model = make_pipeline(
    ...     CharNgramFeaturizer(),
    ...     SGNNProjector(),
    ...     SGNNClassifier(random_state=0),
    ... )
    >>> small = quantize_classifier(model.fit(texts, labels))
    >>> small.predict(["fine and funny", "so dull"]).tolist()
    ['good', 'bad']
    """
    if isinstance(model, Pipeline) and isinstance(model[-1], SGNNClassifier):
        quantized = Pipeline(
            [*model.steps[:-1], (model.steps[-1][0], quantize_classifier(model[-1]))]
        )
        return quantized.set_params(verbose=model.verbose, transform_input=model.transform_input)
    if not isinstance(model, SGNNClassifier):
        last = f" that ends in {type(model[-1]).__name__}" if isinstance(model, Pipeline) else ""
        raise TypeError(
            "quantize_classifier takes a fitted SGNNClassifier or a pipeline that ends in one, got "
            f"{type(model).__name__}{last}."
        )
    check_is_fitted(model)
    quantized_classifier = QuantizedSGNNClassifier(clone(model))
    quantized_classifier._quantize(model)
    return quantized_classifier
