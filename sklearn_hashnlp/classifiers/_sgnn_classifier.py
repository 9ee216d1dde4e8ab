"""SGNNClassifier: a small dense network over projected rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from sklearn_hashnlp._device import Device
from sklearn_hashnlp._sklearn import MAX_INTEGER, Interval, fit_context, literal_options
from sklearn_hashnlp.classifiers._calibration import Calibration
from sklearn_hashnlp.classifiers._labels import Labels
from sklearn_hashnlp.classifiers._losses import Calibrate, Loss, LossName
from sklearn_hashnlp.classifiers._more_classes import MoreClasses
from sklearn_hashnlp.classifiers._net_classifier import (
    CLASSIFIER_TRAINING,
    ClassWeight,
    Monitor,
    NetClassifier,
)
from sklearn_hashnlp.classifiers.sgnn._dense_net import (
    DenseDataset,
    DenseNet,
    dense_net_from_state,
    make_dense_net,
    with_classes,
)
from sklearn_hashnlp.training._fit_task import atomic_fit, reported_to_callbacks
from sklearn_hashnlp.training._settings import (
    AdaptiveOptimizer,
    EarlyStopping,
    Schedule,
    Seeds,
    TrainingSettings,
    as_schedule,
)

SGNNLoss: TypeAlias = Literal["softmax", "ova"]

_DTYPES = [np.float32, np.uint8, np.int8, np.bool_]  # others are converted to the first
_MIN_EPOCHS, _MAX_EPOCHS = 5, 20
_MAX_ROWS = 10**6  # in all epochs together


class SGNNClassifier(NetClassifier):
    """Classify projected rows, such as the locality-sensitive hash of a text, by a dense network.

    A self-governing neural network [1]_ has no embedding table: bits are computed from the
    characters of a text, and a few dense layers predict its class. This is the dense network; the
    bits come from a projector before it. It takes any dense rows: bits, signs, packed bits, or
    floating-point numbers such as the mean of the bits of a text's words.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int, default=(256, 256)
        Sizes of the hidden layers, each linear with ReLU; the paper has two of 256. ``()`` is
        softmax regression.
    packed : bool, default=False
        Whether rows are packed bits, eight per uint8 and the highest bit first, as from
        :func:`numpy.packbits`. The bits that pad the last byte are constant columns.
    dropout : float, default=0.5
        Dropout probability of the outputs of each hidden layer.
    input_dropout : float, default=0.2
        Dropout probability of the columns of the input.
    loss : {"softmax", "ova"}, default="softmax"
        Loss function. ``"softmax"``: cross-entropy. ``"ova"``: one-vs-rest binary cross-entropy,
        also for multi-label classification.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, 1 for labels that are not in the dict; see
        :class:`HashEmbeddingClassifier`.
    calibrate : {"auto", "temperature"} or False, default="auto"
        Whether ``fit`` calibrates the probabilities, by temperature scaling [2]_: the logits are
        divided by ``temperature_``, which changes no predicted label. ``"auto"`` and
        ``"temperature"`` fit the temperature as in :class:`HashEmbeddingClassifier`. False: the
        temperature is 1. ``partial_fit`` and ``warm_start`` update it.
    optimizer : {"adam", "adagrad"}, default="adam"
        Adam or AdaGrad.
    learning_rate : float, default=0.002
        Learning rate.
    schedule : Schedule, "auto" or None, default="auto"
        How the learning rate changes, and whether weights are averaged: a
        :class:`~sklearn_hashnlp.training.Schedule`. ``"auto"`` is a linear decay; None a constant
        learning rate without average.
    max_epochs : int or "auto", default="auto"
        Number of epochs. ``"auto"``: 20, but from 50,000 rows on 10**6 divided by the number of
        rows, and at least 5.
    batch_size : int, default=64
        Rows per batch.
    early_stopping : False, "valid_acc", "valid_loss" or EarlyStopping, default=False
        Whether to stop training when accuracy or loss on a validation set, taken from the training
        rows, no longer improves, and keep the weights of the best epoch; see
        :class:`HashEmbeddingClassifier`.
    warm_start : bool, default=False
        Whether ``fit`` continues training from the weights of the previous call. The labels and the
        net's hyper-parameters must be the same.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Device to compute on. "auto": a CUDA device if there is one; a trained net stays on its
        device.
    callbacks : list of skorch callbacks and functions, or None, default=None
        As those of :class:`HashEmbeddingClassifier`. Use an ``LRScheduler`` with ``schedule=None``:
        the rates are multiplied.
    random_state : int, RandomState instance or None, default=None
        Seeds the initial weights, the validation set, the order of the rows and dropout. On a CPU
        the same int gives the same model bit for bit, for any number of threads.
    verbose : int, default=0
        0 prints nothing, 1 a line per epoch, 2 also a progress bar within an epoch, 3 also the
        settings.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels; for an indicator matrix the names of its columns if it is a data frame, else
        their indices.
    n_features_in_ : int
        Number of columns in ``fit`` or the first ``partial_fit``; with ``packed`` these are bytes.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if they were all strings.
    temperature_ : float
        Divisor of the logits, see ``calibrate``; 1 if it was not fitted, more than 1 if the scores
        are over-confident.
    n_parameters_ : int
        Number of parameters of the net: weights and biases of all layers.
    history_ : list of dict
        One entry per epoch or call of ``partial_fit``: ``epoch``, ``train_loss``, ``dur`` (seconds)
        and, with a validation set, ``valid_loss`` and ``valid_acc``; also the numbers that
        callbacks recorded.
    net_ : skorch.NeuralNetClassifier
        The trained net; ``net_.module_.head`` has the layers, and ``net_.module_.standardize``
        standardizes the rows.

    See Also
    --------
    HashEmbeddingClassifier : Classifies sparse rows, through an embedding table.
    sklearn_hashnlp.text.SGNNProjector : Projects n-gram counts to bits.
    sklearn_hashnlp.text.SGNNWordProjector : Computes the mean of the bits of a text's words.

    Notes
    -----
    Before the first layer rows are standardized: the mean over the training rows is subtracted from
    each column, and all columns are divided by one number, the square root of their mean variance.
    Bits may be {0, 1} or {-1, +1}, and floating-point projections may have any scale.
    ``partial_fit`` and ``warm_start`` update mean and variance by the new rows.

    Rows keep their dtype until they are in a batch: a million rows of 1120 packed bits take 140 MB.
    Dtypes other than uint8, int8, bool and float32 are converted to float32 at once.

    ``partial_fit`` and ``warm_start`` continue with the weights and the state of the optimizer.
    Pickles hold both. A model saved by :func:`~sklearn_hashnlp.persistence.save_model` holds the
    weights; the state of the optimizer is reset unless it was saved with ``training_state=True``.

    Probabilities, and the state after an interrupt (Ctrl-C), are as in
    :class:`HashEmbeddingClassifier`.

    References
    ----------
    .. [1] Ravi & Kozareva (2018). Self-governing neural networks for on-device short text
           classification. EMNLP, section 3.
    .. [2] Guo, Pleiss, Sun & Weinberger (2017). On calibration of modern neural networks. ICML,
           arXiv:1706.04599, section 4.2.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_hashnlp import (
    ...     CharNgramFeaturizer,
    ...     SGNNClassifier,
    ...     SGNNProjector,
    ... )
    >>> texts = [
    ...     "a fine, funny film",
    ...     "dull and far too long",
    ...     "funny and fine acting",
    ...     "too dull to sit through",
    ... ]
    >>> model = make_pipeline(
    ...     CharNgramFeaturizer(),
    ...     SGNNProjector(),
    ...     SGNNClassifier(random_state=0),
    ... )
    >>> model = model.fit(texts, ["good", "bad", "good", "bad"])
    >>> model.predict(["fine and funny", "so dull"])
    array(['good', 'bad'], dtype='<U4')

    Bits may be packed, which takes an eighth of the memory.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> bits = rng.integers(0, 2, (200, 64), dtype=np.uint8)
    >>> labels = np.where(bits[:, 0] == bits[:, 1], "same", "different")
    >>> packed = np.packbits(bits, axis=1)
    >>> model = SGNNClassifier(packed=True, random_state=0).fit(packed, labels)
    >>> model.n_features_in_
    8
    """

    _net: DenseNet
    loss: SGNNLoss
    _text_classifier: ClassVar[str] = (
        "make_pipeline(CharNgramFeaturizer(), SGNNProjector(), SGNNClassifier())"
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CLASSIFIER_TRAINING | {
        "packed": ["boolean"],
        "batch_size": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "input_dropout": [Interval(Real, 0, 1, closed="left")],
        "loss": [literal_options(SGNNLoss)],
    }

    def __init__(
        self,
        *,
        hidden_layer_sizes: tuple[int, ...] | list[int] = (256, 256),
        packed: bool = False,
        dropout: float = 0.5,
        input_dropout: float = 0.2,
        loss: SGNNLoss = "softmax",
        class_weight: ClassWeight = None,
        calibrate: Calibrate = "auto",
        optimizer: AdaptiveOptimizer = "adam",
        learning_rate: float = 0.002,
        schedule: Schedule | Literal["auto"] | None = "auto",
        max_epochs: int | Literal["auto"] = "auto",
        batch_size: int = 64,
        early_stopping: Literal[False] | Monitor | EarlyStopping = False,
        warm_start: bool = False,
        device: Device = "cpu",
        callbacks: list[Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.packed = packed
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.loss = loss
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.early_stopping = early_stopping
        self.warm_start = warm_start
        self.device = device
        self.callbacks = callbacks
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @reported_to_callbacks
    @atomic_fit
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        validation_data: tuple[Any, Any] | None = None,
    ) -> Self:
        """Train the classifier on rows and their labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of finite numbers; with ``packed`` an array of uint8.
        y : array-like or lists of labels of shape (n_samples,), or \
                {array-like, sparse matrix, data frame} of shape (n_samples, n_classes)
            Labels: strings, integers or bools. With ``loss="ova"`` also multiple labels per row: a
            list of labels for each row, or an indicator matrix, 1 if a row has the label of that
            column, else 0.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least 0: the loss of each row is multiplied by its weight; None
            is 1. Rows of weight 0 are ignored.
        validation_data : (X, y), default=None
            As in :meth:`HashEmbeddingClassifier.fit`.

        Returns
        -------
        self : SGNNClassifier
        """
        return self._learn(X, y, sample_weight, validation_data=validation_data)

    @fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train for one epoch on more rows; continue earlier calls of ``fit`` or ``partial_fit``.

        The learning rate is constant and there is no validation set: ``schedule``, ``max_epochs``
        and ``early_stopping`` have no effect. If training diverges, the weights learned before are
        lost as well.

        Parameters
        ----------
        X, y, sample_weight : array-like
            As in ``fit``.
        classes : array-like of shape (n_classes,), default=None
            All labels; required in the first call, unless ``y`` is an indicator matrix. A later
            call may add labels, ``[*model.classes_, "new"]``, which start as improbable for all
            rows. ``classes_`` stays sorted, so that columns of ``predict_proba`` may move.

        Returns
        -------
        self : SGNNClassifier
        """
        return self._learn(X, y, sample_weight, classes=classes, partial=True)

    def _validate_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        # other dtypes than uint8 are refused below, not converted
        dtype = None if self.packed else _DTYPES
        X, y = validate_data(self, X, y, dtype=dtype, multi_output=True, reset=reset)
        if self.packed:
            self._check_bytes(X)
        return X, y

    def _dataset(
        self, X: Any, targets: NDArray[Any], weights: NDArray[np.float32] | None
    ) -> DenseDataset:
        return DenseDataset(X, targets, weights)

    def _rows(self, X: Any) -> DenseDataset:
        self._refuse_texts(X)
        packed = self.net_.module_.packed
        X = validate_data(
            self, X, dtype=None if packed else _DTYPES, ensure_min_samples=0, reset=False
        )
        if packed:
            self._check_bytes(X)
        return DenseDataset(X)

    def _check_bytes(self, X: NDArray[Any]) -> None:
        if X.dtype != np.uint8:
            raise ValueError(
                f"{type(self).__name__}(packed=True) takes rows of bytes, an array of uint8, got "
                f"one of {X.dtype}. Pack bits by numpy.packbits(bits, axis=1), or set packed=False "
                "for rows with one value per column."
            )

    def _new_net(self, n_classes: int, _y: Any, seeds: Seeds, device: str) -> DenseNet:
        return make_dense_net(self._architecture(n_classes), device).initialized(seeds.module)

    def _architecture(self, n_classes: int) -> dict[str, Any]:
        """Return the arguments of the net's module."""
        return {
            "in_features": self.n_features_in_ * (8 if self.packed else 1),
            "packed": bool(self.packed),
            "hidden_sizes": [int(size) for size in self.hidden_layer_sizes],
            "num_classes": n_classes,
            "dropout": float(self.dropout),
            "input_dropout": float(self.input_dropout),
        }

    def _check_architecture(self) -> None:
        """Check that training can continue with the trained net."""
        net = self.net_.architecture()
        wanted = self._architecture(net["num_classes"]) | {"loss": self.loss}
        del wanted["in_features"]  # validate_data has checked the number of columns
        self._check_unchanged(wanted, net | {"loss": self._loss.name})

    def _settings(self, n_rows: int, seed: int) -> TrainingSettings:
        """Return the training settings; those that are "auto" depend on the number of rows."""
        max_epochs = self.max_epochs
        if max_epochs == "auto":
            max_epochs = np.clip(_MAX_ROWS // n_rows, _MIN_EPOCHS, _MAX_EPOCHS)
        return TrainingSettings.of(
            self,
            seed=seed,
            max_epochs=int(max_epochs),
            schedule=as_schedule(self.schedule, Schedule("linear")),
            early_stopping=self._stopping(),
            progress_bar=self.verbose > 1,
        )

    def _choose_loss(
        self, _labels: Labels, _rows: DenseDataset | None, *, continues: bool
    ) -> LossName:
        return self.loss

    @contextmanager
    def _prepared(
        self,
        net: DenseNet,
        rows: DenseDataset,
        _calibration: Calibration,
        _loss: Loss,
        settings: TrainingSettings,
    ) -> Iterator[dict[str, Any]]:
        """Update mean and variance by the rows, and seed dropout."""
        with net.module_.seeded(settings.seed):
            net.update_standardization(rows)
            yield {}

    def _extend(self, more: MoreClasses, bias: NDArray[np.float64]) -> None:
        self._keep_net(with_classes(self.net_, more, bias, self.history_), list(self.history_))
        self._calibration = more.calibration(self._calibration)

    _net_from_state = staticmethod(dense_net_from_state)

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        values, arrays = super()._get_model_state()
        calibration, own = self._calibration.to_state()
        return values | calibration, arrays | own

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._set_model_state(values, arrays)
        self._calibration = Calibration.from_state(values, arrays, len(self.classes_), 0)
        width, architecture = (
            self.n_features_in_ * (8 if self.net_.module_.packed else 1),
            values["architecture"],
        )
        if architecture["in_features"] != width:
            raise ValueError(
                f"The net has {architecture['in_features']} inputs, but rows have {width} columns."
            )
