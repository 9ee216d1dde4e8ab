"""An SGNN classifier with weights of eight bits and an arithmetic of integers."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from sklearn_hashnlp._sklearn import fit_context
from sklearn_hashnlp.classifiers._base import ScoringClassifier
from sklearn_hashnlp.classifiers._integer_layers import IntegerLayer, integer_layers, integer_scores
from sklearn_hashnlp.classifiers._sgnn_classifier import SGNNClassifier

_ROWS = 4096  # scored at once
_NARROW = [np.float64, np.float32, np.uint8, np.int8, np.bool_]


class PartSize(NamedTuple):
    """What a part of a model takes, in bytes."""

    part: str  # its name; the last of a report is ``"total"``
    before: int  # bytes of the trained network, which computes in float32
    after: int  # bytes of the quantised one


class QuantizedSGNNClassifier(ScoringClassifier):
    """Classify projected rows by a trained network whose weights were rounded to eight bits.

    Each output of each layer has a scale of its own; the standardising of columns is folded into the first layer. What
    is computed are integers (see Notes), so that a predictor in any language on any machine can give the same labels.
    :func:`quantize` makes one of a classifier that is fitted; ``fit`` trains and then rounds.

    Parameters
    ----------
    estimator : SGNNClassifier or None, default=None
        What is trained; None is ``SGNNClassifier()``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Columns of a row.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they were all strings.
    layers_ : tuple of IntegerLayer
        The weights.
    packed_ : bool
        Whether rows are bytes of eight bits.

    See Also
    --------
    export_predictor : Writes a predictor of one file.

    Notes
    -----
    Rows are numbers from -1 to 1: bits, signs, packed bytes, or means of bits or signs. Others are refused, such as the
    projections of ``SGNNProjector(output="float")``.

    With 1 in a row as 4096, q are the row's integers. A layer sums ``a[k] = bias[k] + sum_j weight[k, j] q[j]``; the
    input of the next is ``max(0, (a[k] multiplier[k] + 2**(shift - 1)) >> shift)``, with a ``shift`` for each layer; a
    score of the last is ``a[k] scale[k]``, the only product that is not of integers. The label is that of the greatest
    score, the first at a tie. No rows are needed to find the scales, and nothing saturates.

    References
    ----------
    Jacob et al. (2018). Quantization and training of neural networks for efficient integer-arithmetic-only inference.
    CVPR, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_hashnlp.classifiers import QuantizedSGNNClassifier, SGNNClassifier
    >>> bits = np.random.default_rng(0).integers(0, 2, (200, 64), dtype=np.uint8)
    >>> labels = np.where(bits[:, :3].sum(axis=1) > 1, "on", "off")
    >>> network = SGNNClassifier(hidden_layer_sizes=(32,), max_epochs=60, random_state=0)
    >>> model = QuantizedSGNNClassifier(network).fit(bits, labels)
    >>> model.score(bits, labels) > 0.9
    True
    >>> for part in model.size_report():
    ...     print(part.part, part.before, part.after)
    standardisation 520 0
    layer 1 weights 8192 2048
    layer 1 biases and scales 128 384
    layer 2 weights 256 64
    layer 2 biases and scales 8 32
    total 9104 2528
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"estimator": [SGNNClassifier, None]}
    _of_texts: ClassVar[str] = "make_pipeline(CharNgramFeaturizer(), SGNNProjector(), QuantizedSGNNClassifier())"

    def __init__(self, estimator: SGNNClassifier | None = None) -> None:
        self.estimator = estimator

    @fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> QuantizedSGNNClassifier:
        """Train a copy of ``estimator`` and round its weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, from -1 to 1; for a packed classifier an array of uint8.
        y : array-like of shape (n_samples,), or {array-like, sparse matrix} of shape (n_samples, n_classes)
            Labels, as ``SGNNClassifier`` takes them.
        sample_weight : array-like of shape (n_samples,), default=None
            What the loss of each row is multiplied by; None is 1.

        Returns
        -------
        QuantizedSGNNClassifier
            Itself.

        Raises
        ------
        TypeError, ValueError, RuntimeError
            As :meth:`SGNNClassifier.fit`; ValueError also for rows beyond -1 and 1.
        """
        self._refuse_texts(X)
        estimator = SGNNClassifier() if self.estimator is None else clone(self.estimator)
        if not estimator.packed:
            self._check_range(validate_data(self, X, dtype=_NARROW))  # told before the training
        self._round(estimator.fit(X, y, sample_weight=sample_weight))
        return self

    def size_report(self) -> list[PartSize]:
        """Tell what each part took before and takes now.

        Returns
        -------
        list of PartSize
            The parts in their order, and the total.
        """
        check_is_fitted(self)
        first = self.layers_[0].weight
        report = [PartSize("standardisation", 8 * (first.shape[1] + 1), 0)]  # float64 means and a scale
        for number, layer in enumerate(self.layers_, 1):
            last = number == len(self.layers_)
            rescaling = layer.scale.nbytes if last else layer.multiplier.nbytes
            report += [
                PartSize(f"layer {number} weights", 4 * layer.weight.size, layer.weight.nbytes),
                PartSize(f"layer {number} biases and scales", 4 * layer.bias.size, layer.bias.nbytes + rescaling),
            ]
        return [*report, PartSize("total", sum(part.before for part in report), sum(part.after for part in report))]

    def _round(self, estimator: SGNNClassifier) -> None:
        module = estimator.net_.module_
        linear = [layer for layer in module.head if isinstance(layer, nn.Linear)]
        weights = [layer.weight.detach().cpu().double().numpy() for layer in linear]
        biases = [layer.bias.detach().cpu().double().numpy() for layer in linear]
        weights[0] = weights[0] / float(module.standardize.scale)
        # Multiplied and added up by numpy alone: a library's product of a matrix and a vector hangs on the machine.
        biases[0] = biases[0] - (weights[0] * module.standardize.mean.cpu().numpy()).sum(axis=1)
        self.layers_: tuple[IntegerLayer, ...] = integer_layers(weights, biases)
        self.packed_ = bool(module.packed)
        self.classes_ = estimator.classes_
        self.n_features_in_ = estimator.n_features_in_
        if hasattr(estimator, "feature_names_in_"):
            self.feature_names_in_ = estimator.feature_names_in_
        self._loss = estimator._loss

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        self._refuse_texts(X)
        X = validate_data(self, X, dtype=None if self.packed_ else _NARROW, reset=False)
        if not self.packed_:
            self._check_range(X)
        elif X.dtype != np.uint8:
            raise ValueError(
                f"{type(self).__name__} was trained with packed=True and takes rows of bytes, an array of uint8, got "
                f"one of {X.dtype}. Pack bits by numpy.packbits(bits, axis=1)."
            )
        scores = []
        for start in range(0, len(X), _ROWS):
            rows = X[start : start + _ROWS]
            rows = np.unpackbits(rows, axis=1) if self.packed_ else rows
            scores.append(integer_scores(self.layers_, rows.astype(np.float64)))
        return np.concatenate(scores)

    def _check_range(self, X: NDArray[Any]) -> None:
        lowest, highest = X.min(initial=0) + 0.0, X.max(initial=0) + 0.0  # and no -0
        if lowest < -1 or highest > 1:
            raise ValueError(
                f"{type(self).__name__} takes rows of numbers from -1 to 1 (bits, signs, or means of them), got "
                f"numbers from {lowest:g} to {highest:g}. Set the projector's output to 'binary' or 'sign', or "
                "to 'packed' with a classifier of packed=True, and train anew."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.classifier_tags.multi_label = get_tags(self.estimator).classifier_tags.multi_label
        return tags


def quantize(model: SGNNClassifier | Pipeline) -> Any:
    """Round the weights of a fitted classifier to eight bits.

    Parameters
    ----------
    model : SGNNClassifier or Pipeline
        Fitted; a pipeline must end in an ``SGNNClassifier``. It is not changed.

    Returns
    -------
    QuantizedSGNNClassifier or Pipeline
        The quantised classifier; or a pipeline with the same transformers before it.

    Raises
    ------
    TypeError
        If ``model`` is anything else.
    ValueError
        If a weight is infinite or not a number.
    sklearn.exceptions.NotFittedError
        If it was not fitted.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_hashnlp import CharNgramFeaturizer, SGNNClassifier, SGNNProjector
    >>> from sklearn_hashnlp.classifiers import quantize
    >>> texts = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through"]
    >>> model = make_pipeline(CharNgramFeaturizer(), SGNNProjector(), SGNNClassifier(random_state=0))
    >>> small = quantize(model.fit(texts, ["good", "bad", "good", "bad"]))
    >>> small.predict(["fine and funny", "so dull"]).tolist()
    ['good', 'bad']
    """
    if isinstance(model, Pipeline) and isinstance(model[-1], SGNNClassifier):
        quantized = Pipeline([*model.steps[:-1], (model.steps[-1][0], quantize(model[-1]))])
        return quantized.set_params(verbose=model.verbose, transform_input=model.transform_input)
    if not isinstance(model, SGNNClassifier):
        raise TypeError(
            f"quantize takes a fitted SGNNClassifier or a pipeline that ends in one, got {type(model).__name__}"
            f"{f' that ends in {type(model[-1]).__name__}' if isinstance(model, Pipeline) else ''}."
        )
    check_is_fitted(model)
    quantized_classifier = QuantizedSGNNClassifier(clone(model))
    quantized_classifier._round(model)
    return quantized_classifier
