"""NetClassifier: training, predictions and state of a classifier with a net."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._sklearn import MAX_INTEGER, Interval, Options, StrOptions, fit_context, literal_options
from sklearn_hashnlp.classifiers._base import ScoringClassifier
from sklearn_hashnlp.classifiers._class_shares import count_classes, weights_of_batch
from sklearn_hashnlp.classifiers._labels import Labels, check_targets, read_targets
from sklearn_hashnlp.classifiers._losses import LOSSES, Loss, LossChoice, LossName, make_loss, takes_several_labels
from sklearn_hashnlp.classifiers._sample_weights import apply_class_weight, drop_zero_weights
from sklearn_hashnlp.classifiers._temperature import update_temperature
from sklearn_hashnlp.training._bundles import EarlyStopping, Schedule, as_early_stopping, check_bundles
from sklearn_hashnlp.training._estimator import FittedNet, atomic_fit
from sklearn_hashnlp.training._rows import Rows, validation_split
from sklearn_hashnlp.training._settings import (
    TRAINING,
    AdaptiveOptimizer,
    Device,
    Seeds,
    TrainingSettings,
    check_callbacks,
    check_hidden_layers,
    draw_seeds,
    resolve_device,
)

if TYPE_CHECKING:  # torch is imported where a net is used
    from sklearn_hashnlp.classifiers._net import ClassifierNet

Calibrate: TypeAlias = Literal["auto", False]
ClassWeight: TypeAlias = dict[Any, float] | Literal["balanced"] | None
Monitor: TypeAlias = Literal["valid_acc", "valid_loss"]

_MIN_ROWS_PER_STEP = 64  # of further training: after a fit of few rows, learning rates are still large
_PARAMETER_OF = {  # a net's hyper-parameters that have another name in the estimator
    "num_embeddings": "n_embeddings",
    "num_buckets": "n_buckets",
    "num_hashes": "n_hashes",
    "hidden_sizes": "hidden_layer_sizes",
    "pool_std": "embedding",
    "append_weight": "embedding",
    "hash_rows": "embedding",
    "importance_init": "embedding",
}

CLASSIFIER_TRAINING: Final[dict[str, list[Any]]] = TRAINING | {
    "hidden_layer_sizes": [tuple, list],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "calibrate": [StrOptions({"auto"}), Options(bool, {False})],
    "max_epochs": [Interval(Integral, 1, MAX_INTEGER, closed="both"), StrOptions({"auto"})],
    "schedule": [Schedule, StrOptions({"auto"}), None],
    "early_stopping": [EarlyStopping, literal_options(Monitor), Options(bool, {False})],
}
"""Constraints of the training parameters that both neural classifiers have."""


class NetClassifier(ScoringClassifier, FittedNet):
    """A classifier with scores computed by a trained net."""

    _net: ClassifierNet
    _rows_seen: int
    _class_counts: NDArray[np.float64]  # see count_classes
    _keeps_step_sizes: ClassVar[bool] = True
    _advice_if_not_diverged: ClassVar[str] = "values in X are too large: scale them down"

    loss: LossChoice
    class_weight: ClassWeight
    calibrate: Calibrate
    optimizer: AdaptiveOptimizer
    batch_size: int | Literal["auto"]
    early_stopping: Literal[False] | Monitor | EarlyStopping
    warm_start: bool
    device: Device
    random_state: int | np.random.RandomState | None

    @abstractmethod
    def _rows(self, X: Any) -> Rows:
        """Check rows, and return the dataset that the net reads."""

    @abstractmethod
    def _check_training_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        """Check training rows and their targets by scikit-learn's ``validate_data``."""

    @abstractmethod
    def _training_rows(self, X: Any, targets: NDArray[Any], weights: NDArray[np.float32] | None) -> Any:
        """Return checked rows with their targets and weights."""

    @abstractmethod
    def _new_net(self, n_classes: int, y: Any | None, seeds: Seeds, device: str) -> Any:
        """Build an initialized net; ``y`` is None in ``partial_fit``."""

    @abstractmethod
    def _check_unchanged(self) -> None:
        """Check that training can continue with the trained net."""

    @abstractmethod
    def _settings(self, n_rows: int, seed: int) -> TrainingSettings:
        """Return the training settings; "auto" depends on the number of rows."""

    @abstractmethod
    def _prepare(self, net: Any, rows: Any, *, resumes: bool) -> dict[str, Any]:
        """Update the parts of a net that are computed from the rows before training; return fitted attributes."""

    @fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train the classifier on rows and their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of finite numbers. :class:`SGNNClassifier` takes dense rows only, with ``packed`` an array of uint8.
        y : array-like or lists of labels of shape (n_samples,), or {array-like, sparse matrix, data frame} \
                of shape (n_samples, n_classes)
            Labels: strings, integers or bools. With ``loss="ova"`` also multiple labels per row: a list of labels for
            each row, or an indicator matrix, 1 if a row has the label of that column, else 0.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least 0: the loss of each row is multiplied by its weight; None is 1. Rows of
            weight 0 are ignored. With the dual solver larger weights mean less regularization.

        Returns
        -------
        self : estimator
            The fitted classifier.

        Raises
        ------
        TypeError
            If ``X`` is sparse and the classifier takes dense rows.
        ValueError
            If a parameter, ``X``, ``y`` or ``sample_weight`` is not as described; if ``y`` has one class only, or
            another number of classes than ``tree``; if training diverges; or if ``warm_start`` is set and the labels,
            the device or the net's hyper-parameters have changed.
        RuntimeError
            If ``device="cuda"`` and torch finds no CUDA device.
        """
        self._check_parameters()
        device = resolve_device(self.device, caller=type(self).__name__)
        resumes = bool(self.warm_start) and self._is_fitted
        y, named = read_targets(y, caller=type(self).__name__)
        X, y, weights = self._read(X, y, named, sample_weight, reset=not resumes)
        labels = named or Labels.of(y, caller=type(self).__name__)
        seeds = draw_seeds(self.random_state)
        if resumes:
            self._labels.check_same(labels)
            self._check_unchanged()
        loss = self._choose_loss(labels, y.shape[0], resumes=resumes)
        rows = self._dataset(X, y, weights, labels)
        if not resumes and self._solve(labels, rows, seeds, loss, device):
            return self
        net = self.net_ if resumes else self._new_net(len(labels.classes), y, seeds, device)
        stopping = self._stopping()
        fraction = 0.0 if stopping is None else stopping.validation_fraction
        rows, valid_rows = validation_split(rows, fraction, seed=seeds.split, caller=type(self).__name__)
        settings = self._settings(len(rows), seeds.of_order(len(net.history)))
        self._train(net, labels, rows, valid_rows, settings, loss=loss, resumes=resumes)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train for one epoch on more rows, continuing from earlier calls of ``fit`` or ``partial_fit``.

        The learning rate is constant and there is no validation set: ``schedule``, ``max_epochs`` and
        ``early_stopping`` have no effect. Only ``history_`` grows from call to call.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as in ``fit``.
        y : array-like of shape (n_samples,), or {array-like, sparse matrix} of shape (n_samples, n_classes)
            Labels, as in ``fit``.
        classes : array-like of shape (n_classes,), default=None
            All labels that can occur in any call. Required in the first call, unless ``y`` is an indicator matrix.
        sample_weight : array-like of shape (n_samples,), default=None
            As in ``fit``.

        Returns
        -------
        self : estimator
            The fitted classifier.

        Raises
        ------
        ValueError
            As in ``fit``; if ``classes`` is missing in the first call, or a later call has other labels; or if
            ``class_weight="balanced"``. If training diverges, the weights learned before are lost as well.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
        >>> model = HashEmbeddingClassifier(random_state=0)
        >>> for part in range(3):
        ...     model = model.partial_fit(np.eye(4), ["a", "b", "a", "b"], classes=["a", "b", "c"])
        >>> model.predict(np.eye(4)).tolist(), len(model.history_)
        (['a', 'b', 'a', 'b'], 3)
        """
        self._check_parameters()
        refuse_balanced(self.class_weight)
        device = resolve_device(self.device, caller=type(self).__name__)
        resumes = self._is_fitted
        known = self._labels if resumes else None
        y, named = read_targets(y, classes=classes, known=known, caller=type(self).__name__)
        X, y, weights = self._read(X, y, named, sample_weight, reset=not resumes, is_batch=True)
        labels = labels_of_partial_fit(known, named, y, classes, caller=type(self).__name__)
        seeds = draw_seeds(self.random_state)
        if resumes:
            self._check_unchanged()
        net = self.net_ if resumes else self._new_net(len(labels.classes), None, seeds, device)
        rows = self._dataset(X, y, weights, labels)
        settings = self._settings(1, seeds.of_order(len(net.history))).single_epoch()
        loss = self._choose_loss(labels, None, resumes=resumes)
        self._train(net, labels, rows, None, settings, loss=loss, resumes=resumes, is_batch=True)
        return self

    def _check_parameters(self) -> None:
        """Check what the declared constraints cannot express."""
        check_hidden_layers(self)
        check_bundles(self)
        check_callbacks(self)

    def _read(
        self, X: Any, y: Any, named: Labels | None, sample_weight: Any, *, reset: bool, is_batch: bool = False
    ) -> tuple[Any, Any, NDArray[np.float32] | None]:
        """Check rows, labels and weights, and drop the rows of weight zero."""
        self._refuse_texts(X)
        X, y = self._check_training_rows(X, y, reset=reset)
        y = check_targets(y, named, loss=self.loss, caller=type(self).__name__, is_batch=is_batch)
        return drop_zero_weights(X, y, sample_weight, caller=type(self).__name__)

    def _dataset(self, X: Any, y: Any, weights: NDArray[np.float32] | None, labels: Labels) -> Any:
        targets = labels.encode(y)
        weights = apply_class_weight(self.class_weight, labels, targets, weights, caller=type(self).__name__)
        return self._training_rows(X, targets, weights)

    def _choose_loss(self, labels: Labels, n_rows: int | None, *, resumes: bool) -> LossName:
        assert self.loss != "auto"
        return self.loss

    def _solve(self, labels: Labels, rows: Any, seeds: Seeds, loss: LossName, device: str) -> bool:
        """Fit without a net if the parameters allow it, and return whether the classifier is fitted."""
        return False

    def _stopping(self) -> EarlyStopping | None:
        return as_early_stopping(self.early_stopping, EarlyStopping())

    def _train(
        self,
        net: Any,
        labels: Labels,
        rows: Any,
        valid_rows: Any | None,
        settings: TrainingSettings,
        *,
        loss: LossName,
        resumes: bool,
        is_batch: bool = False,
    ) -> None:
        """Train the net, fit the temperature, and set the fitted attributes."""
        from sklearn_hashnlp.classifiers._calibration import OutOfBatchScores, ProgressiveScores, fit_temperature
        from sklearn_hashnlp.training._fit import fit_net
        from sklearn_hashnlp.training._torch_scope import plain_torch

        rows, valid_rows = net.get_dataset(rows), None if valid_rows is None else net.get_dataset(valid_rows)
        known, n_known = (self._loss.inverse_temperature, self._rows_seen) if resumes else (1.0, 0)
        class_counts = count_classes(rows, len(labels.classes))
        if resumes:
            class_counts += self._class_counts
            rows.row_weights = weights_of_batch(rows, class_counts)
        elif is_batch:
            net.rows_per_step = min(settings.batch_size, len(rows))
        calibrates = self.calibrate == "auto" and LOSSES[loss].has_temperature
        scores: OutOfBatchScores | ProgressiveScores | None = None
        if calibrates and resumes and valid_rows is None:
            scores = ProgressiveScores(rows, settings)
        elif calibrates and not is_batch and valid_rows is None:
            scores = OutOfBatchScores.of(rows, settings)
        with plain_torch(net.device_type), net.seeded(settings.seed):
            fitted = self._prepare(net, rows, resumes=resumes)
            fit_net(
                net,
                rows,
                valid_rows,
                settings,
                optimizer=net.make_optimizer(self.optimizer, settings.learning_rate),
                loss=make_loss(loss, net.module_.head, multilabel=labels.multilabel, inverse_temperature=known),
                batch_options=self._batch_options(net),
                first_callbacks=[] if scores is None else [scores],
            )
            if net.rows_per_step is None:
                net.rows_per_step = max(settings.batch_size, _MIN_ROWS_PER_STEP if self.batch_size == "auto" else 1)
            if not resumes:
                self._finish(net, rows, fitted)
            net.check_scores(rows)
            has_temperature = calibrates and not is_batch and fit_temperature(net, valid_rows, scores)
            if isinstance(scores, ProgressiveScores):
                scores.update_temperature(net, known, n_known)
            elif not has_temperature and net.criterion_.needs_temperature:
                some, n_classes = rows if valid_rows is None else valid_rows, len(labels.classes)
                update_temperature(net.criterion_, net.score_rows, some, n_classes, known=known, n_known=n_known)
        self.__dict__.update(fitted)  # now that nothing can fail
        self._keep_labels(labels, len(rows) + (self._rows_seen if resumes else 0), class_counts)
        self._keep_net(net, self.history_ if resumes else [])

    def _batch_options(self, net: Any) -> dict[str, Any]:
        """Return options of the training batches."""
        return {}

    def _finish(self, net: Any, rows: Any, fitted: dict[str, Any]) -> None:
        """Update the fitted attributes that depend on the trained net, in a first training."""

    @property
    def _is_fitted(self) -> bool:
        return "_net" in self.__dict__

    @property
    def _loss(self) -> Loss:  # type: ignore[override]  # an attribute of quantized classifiers
        return self._net.criterion_

    @property
    def loss_(self) -> LossName:
        """The name of the loss that was minimized."""
        return self._loss.name

    @property
    def _labels(self) -> Labels:
        return Labels(self.classes_, self._loss.multilabel, self._label_lists)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self._scores_by_net(self._rows(X))

    def _scores_by_net(self, rows: Any) -> NDArray[np.float64]:
        """Compute the scores of checked rows by torch."""
        from sklearn_hashnlp.training._torch_scope import plain_torch

        with plain_torch(self._net.device_type):
            scores = self._net.score_rows(rows)
        self._check_finite(scores)
        return scores

    def _check_finite(self, scores: NDArray[np.float64]) -> None:
        self._check_all_finite(bool(np.isfinite(scores).all()))

    def _check_all_finite(self, finite: bool) -> None:
        if not finite:
            raise ValueError(
                f"{type(self).__name__} cannot predict labels: a score is infinite or not a number. If the training "
                "diverged, train again by fit with warm_start=False. Otherwise "
                f"{self._advice_if_not_diverged}."
            )

    def _keep_labels(self, labels: Labels, rows_seen: int, class_counts: NDArray[np.float64]) -> None:
        self._rows_seen, self._class_counts = rows_seen, class_counts
        self.classes_, self._label_lists = labels.classes, labels.lists

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        check_is_fitted(self)
        net = self._held()
        values, arrays = net.to_state()
        step_sizes, accumulators = net.to_step_sizes()
        arrays |= accumulators | {"class_counts": self._class_counts}
        values |= step_sizes | self._pack_labels()
        return values | {"history": self.history_, "rows_seen": self._rows_seen}, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._unpack_labels(values)
        n_classes = values["architecture"]["num_classes"]
        if n_classes != len(self.classes_):
            raise ValueError(f"The net has {n_classes} classes, but the model has {len(self.classes_)} labels.")
        self._rows_seen = int(values["rows_seen"])
        counts = arrays["class_counts"]
        if counts.dtype != np.float64 or counts.shape != (n_classes + 1,) or counts.min() < 0:
            raise ValueError(f"There must be a count for each of {n_classes} classes and one for all, at least 0.")
        self._class_counts = counts
        self._load_net(values, arrays)

    def _held(self) -> Any:
        """Return the net, or the arrays that it is made from."""
        return self._net

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = takes_several_labels(self.loss)
        return tags

    def _load_net(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Make the net of a saved model."""
        from sklearn_hashnlp.training._torch_scope import plain_torch

        net = self._net_from_state(values, arrays, values["history"])
        with plain_torch():
            net.load_step_sizes(values, arrays)
        self._keep_net(net, [])


def labels_of_partial_fit(known: Labels | None, named: Labels | None, y: Any, classes: Any, *, caller: str) -> Labels:
    """Return the labels of a call of ``partial_fit``: the labels of earlier calls, or ``classes`` in the first.

    ``named`` are the labels in y if y is lists of labels or a frame.
    """
    if known is not None and classes is None and named is None:
        return known
    if known is None and classes is None and (y.ndim == 1 or (named is not None and named.lists)):
        raise ValueError(
            "classes must be passed on the first call to partial_fit: all labels that can occur in any call, since "
            "later rows may have labels that these rows do not have."
        )
    labels = named or Labels.of(y, classes, caller=caller)
    if known is not None:
        known.check_same(labels)
    return labels


def refuse_balanced(class_weight: Any) -> None:
    """Refuse balanced class weights, which need the labels of all calls."""
    if class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' is not for partial_fit: a part of the rows does not have the label frequencies. "
            "Compute the weights from a sample of the labels, by sklearn.utils.class_weight.compute_class_weight, "
            "and set class_weight to a dict of them."
        )


def check_optimizer(estimator: Any) -> None:
    """Check that the optimizer has not changed."""
    from sklearn_hashnlp.training._optimizers import OPTIMIZERS

    optimizer = estimator.net_.optimizer_
    if optimizer.state and type(optimizer) is not OPTIMIZERS[estimator.optimizer]:
        raise ValueError(
            f"{type(estimator).__name__}(optimizer={estimator.optimizer!r}) cannot continue a training with "
            f"{type(optimizer).__name__}, whose step sizes are part of the model. Set 'optimizer' back, or call fit "
            "with warm_start=False to train a new net."
        )


def check_unchanged(estimator: Any, wanted: dict[str, Any], net: dict[str, Any], device: str) -> None:
    """Check that training can continue with a net of the hyper-parameters ``net``."""
    for name, value in wanted.items():
        if net[name] != value:
            parameter = _PARAMETER_OF.get(name, name)
            raise ValueError(
                f"{type(estimator).__name__} cannot continue training its net, which was made with another "
                f"{parameter!r} than {getattr(estimator, parameter)!r}. Set it back, or call fit with warm_start=False "
                "to train a new net."
            )
    if estimator.device not in ("auto", device):
        raise ValueError(
            f"{type(estimator).__name__}(device={estimator.device!r}) cannot continue training its net, which is on "
            f"{device!r}. Set device={device!r}, or call fit with warm_start=False to train a new net."
        )
