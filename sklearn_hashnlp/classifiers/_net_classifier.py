"""NetClassifier: ``fit`` and ``partial_fit``, predictions and state of a classifier with a net."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._device import Device, resolve_device
from sklearn_hashnlp._sklearn import MAX_INTEGER, Interval, Options, StrOptions, literal_options
from sklearn_hashnlp.classifiers._base import ScoringClassifier
from sklearn_hashnlp.classifiers._calibration import Calibration
from sklearn_hashnlp.classifiers._labels import Labels, as_class_list, check_targets, read_targets
from sklearn_hashnlp.classifiers._losses import (
    LOSSES,
    Calibrate,
    Loss,
    LossChoice,
    LossName,
    class_shares,
    make_loss,
    takes_several_labels,
    takes_soft_labels,
)
from sklearn_hashnlp.classifiers._more_classes import MoreClasses
from sklearn_hashnlp.classifiers._sample_weights import (
    apply_class_weight,
    drop_zero_weights,
    weights_of_batch,
)
from sklearn_hashnlp.training._check_unchanged import check_unchanged, train_anew
from sklearn_hashnlp.training._estimator import FittedNet
from sklearn_hashnlp.training._settings import (
    TRAINING,
    AdaptiveOptimizer,
    EarlyStopping,
    Schedule,
    Seeds,
    TrainingSettings,
    as_early_stopping,
    check_training_parameters,
    draw_seeds,
)
from sklearn_hashnlp.training._validation_split import (
    Samples,
    errors_of_validation_data,
    validation_pair,
    validation_split,
)

if TYPE_CHECKING:  # torch is imported where a net is used
    from sklearn_hashnlp.classifiers._net import ClassifierNet

ClassWeight: TypeAlias = dict[Any, float] | Literal["balanced"] | None
Monitor: TypeAlias = Literal["valid_acc", "valid_loss"]

_PARAMETERS = {  # of a net's hyper-parameters that have another name in the estimator
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
    "calibrate": [StrOptions({"auto", "temperature"}), Options(bool, {False})],
    "max_epochs": [Interval(Integral, 1, MAX_INTEGER, closed="both"), StrOptions({"auto"})],
    "schedule": [Schedule, StrOptions({"auto"}), None],
    "early_stopping": [EarlyStopping, literal_options(Monitor), Options(bool, {False})],
}
"""Constraints of the training parameters that both neural classifiers have."""


class NetClassifier(ScoringClassifier, FittedNet):
    """A classifier with scores computed by a trained net.

    It is trained in three steps: read rows and labels, take the trained net or build one and train
    it, and keep what was learned.
    """

    _net: ClassifierNet
    _calibration: Calibration
    _keeps_step_sizes: ClassVar[bool] = True

    loss: LossChoice
    optimizer: AdaptiveOptimizer
    calibrate: Calibrate
    early_stopping: Literal[False] | Monitor | EarlyStopping
    class_weight: ClassWeight
    warm_start: bool
    device: Device
    random_state: int | np.random.RandomState | None

    @abstractmethod
    def _rows(self, X: Any) -> Samples:
        """Check rows, and return the dataset that the net reads."""

    @abstractmethod
    def _validate_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        """Check rows and targets by ``validate_data``."""

    @abstractmethod
    def _dataset(self, X: Any, targets: NDArray[Any], weights: NDArray[np.float32] | None) -> Any:
        """Return checked rows as a dataset."""

    @abstractmethod
    def _new_net(self, n_classes: int, y: Any | None, seeds: Seeds, device: str) -> Any:
        """Build an initialized net; ``y`` are the labels of all rows, None in ``partial_fit``."""

    @abstractmethod
    def _check_architecture(self) -> None:
        """Check that training can continue with the trained net."""

    @abstractmethod
    def _settings(self, n_rows: int, seed: int) -> TrainingSettings:
        """Return the training settings; those that are "auto" depend on the number of rows."""

    @abstractmethod
    def _extend(self, more: MoreClasses, bias: NDArray[np.float64]) -> None:
        """Add outputs for new classes, whose score is ``bias``, to the trained net."""

    @abstractmethod
    def _choose_loss(self, labels: Labels, rows: Any | None, *, continues: bool) -> LossName:
        """Return the name of the loss; ``rows`` are all rows, None in ``partial_fit``."""

    def _is_solved(
        self, labels: Labels, rows: Any, loss: LossName, seeds: Seeds, device: str
    ) -> bool:
        """Fit a new model by a solver without a net, if one is chosen; return whether it was."""
        return False

    def _check_parameters(self) -> None:
        """Check what the declared constraints cannot express."""
        check_training_parameters(self)

    def _batch_options(self, net: Any) -> Mapping[str, Any]:
        """Return options of the training batches."""
        return {}

    @contextmanager
    def _prepared(
        self, net: Any, rows: Any, calibration: Calibration, loss: Loss, settings: TrainingSettings
    ) -> Iterator[dict[str, Any]]:
        """Prepare a net, yield options of its optimizer, and finish it after the training."""
        yield {}

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        *,
        classes: ArrayLike | None = None,
        partial: bool = False,  # whether it is a call of ``partial_fit``
        validation_data: tuple[Any, Any] | None = None,
    ) -> Self:
        """Train on rows, from the start or on."""
        caller = type(self).__name__
        classes = as_class_list(classes, caller)
        self._check_parameters()
        if partial and self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' is not for partial_fit: a part of the rows does not have "
                "the label frequencies. Compute the weights from a sample of the labels, by "
                "sklearn.utils.class_weight.compute_class_weight, and set class_weight to a dict "
                "of them."
            )
        device = resolve_device(self.device, caller=caller)
        continues = self._is_fitted and (partial or bool(self.warm_start))
        known = self._labels if continues else None
        soft, of_targets = takes_soft_labels(self.loss), known if partial else None
        if of_targets is not None and classes is not None:
            of_targets.check_kept(classes, caller)
        may_add = of_targets is not None and classes is None
        y, named = read_targets(
            y, classes=classes, known=of_targets, soft=soft, may_add=may_add, caller=caller
        )
        self._refuse_texts(X)
        X, y = self._validate_rows(X, y, reset=not continues)
        y = check_targets(y, named, loss=self.loss, caller=caller, is_batch=partial)
        X, y, weights = drop_zero_weights(X, y, sample_weight, caller=caller)
        labels = self._labels_of(y, named, known, classes, partial=partial)
        seeds = draw_seeds(self.random_state)
        if continues:
            self._check_architecture()
        targets = labels.encode(y, may_add=may_add)
        weights = apply_class_weight(self.class_weight, labels, targets, weights, caller=caller)
        rows, valid_rows = self._dataset(X, targets, weights), None
        if known is not None and known.is_part_of(labels):
            self._add_labels(labels, known, rows)
        loss = self._choose_loss(labels, None if partial else rows, continues=continues)
        if not (continues or partial) and self._is_solved(labels, rows, loss, seeds, device):
            return self
        n_classes = len(labels.classes)
        net = (
            self.net_
            if continues
            else self._new_net(n_classes, None if partial else y, seeds, device)
        )
        seed = seeds.of_order(len(net.history))
        if partial:
            settings = self._settings(1, seed).single_epoch()
        else:
            stopping = self._stopping()
            if validation_data is not None:
                valid_rows = self._validation_rows(validation_data, labels)
            elif stopping is not None:
                rows, valid_rows = validation_split(
                    rows, stopping.validation_fraction, seed=seeds.split
                )
            settings = replace(self._settings(len(rows), seed), only_scores=stopping is None)
        return self._train(
            net, labels, rows, valid_rows, loss, replace(settings, continues=continues)
        )

    def _validation_rows(self, validation_data: Any, labels: Labels) -> Any:
        """Return a user's validation rows as a dataset."""
        X, y = validation_pair(validation_data, type(self).__name__)
        with errors_of_validation_data():
            y, _ = read_targets(y, known=labels, soft=labels.soft, caller=type(self).__name__)
            X, y = self._validate_rows(X, y, reset=False)
            unseen = [] if y.ndim == 2 else sorted(set(y.tolist()) - set(labels.classes.tolist()))
            if unseen:
                raise ValueError(f"the label {unseen[0]!r} is not in y.")
            return self._dataset(X, labels.encode(y), None)

    def _labels_of(
        self,
        y: Any,
        named: Labels | None,
        known: Labels | None,
        classes: ArrayLike | None,
        *,
        partial: bool,
    ) -> Labels:
        """Return the labels to learn; ``named`` are the labels of label lists or of a frame."""
        if partial and classes is None:
            if known is not None and named is None:
                return known
            if known is None and (y.ndim == 1 or (named is not None and named.lists)):
                raise ValueError(
                    "classes must be passed on the first call to partial_fit: all labels that can "
                    "occur in any call, since later rows may have labels that these rows do not "
                    "have."
                )
        labels = named or Labels.of(y, classes, caller=type(self).__name__)
        if known is not None:
            labels = labels.in_type_of(known)
        adds = partial and known is not None and known.is_part_of(labels)
        if known is None or adds or not partial:
            labels.warn_of_strings(type(self).__name__)
        if known is not None and not adds:
            known.check_same(labels, self)
        return labels

    def _add_labels(self, labels: Labels, known: Labels, rows: Any) -> None:
        """Extend the net by new labels, which start as improbable for all texts."""
        more = MoreClasses.of(known.classes, labels.classes)
        counts = more.calibration(self._calibration).class_counts
        shares = class_shares(counts)[more.is_new]
        self._extend(more, self._loss.constant_beside(self.net_.score_rows(rows), shares))
        self._keep_labels(labels)

    def _train(
        self,
        net: Any,
        labels: Labels,
        rows: Any,
        valid_rows: Any | None,
        loss: LossName,
        settings: TrainingSettings,
    ) -> Self:
        """Train the net, and set the fitted attributes."""
        from sklearn_hashnlp.classifiers._net import (
            OutOfBatchScores,
            ProgressiveScores,
            calibrate_net,
        )
        from sklearn_hashnlp.training._callbacks import epoch_reports
        from sklearn_hashnlp.training._fit import fit_net
        from sklearn_hashnlp.training._torch_scope import plain_torch

        continues = settings.continues
        rows, valid_rows = (
            net.get_dataset(rows),
            None if valid_rows is None else net.get_dataset(valid_rows),
        )
        earlier, known = (
            (self._calibration, self._loss.inverse_temperature) if continues else (None, 1.0)
        )
        calibration = Calibration.of(rows, len(labels.classes), earlier, self.calibrate)
        if continues:
            rows.row_weights = weights_of_batch(rows, calibration.usual_shares)
        elif settings.partial:
            net.rows_per_step = min(settings.batch_size, len(rows))
        calibrate, unseen = self.calibrate if LOSSES[loss].has_temperature else False, None
        held_out = None if settings.only_scores else valid_rows
        if calibrate and held_out is None:
            kind = ProgressiveScores if continues else OutOfBatchScores
            unseen = kind(rows, settings, calibration, calibrate=calibrate)
        criterion = make_loss(
            loss, net.module_.head, multilabel=labels.multilabel, inverse_temperature=known
        )

        def keep(model: Self) -> Self:
            model._keep_labels(labels)
            model._keep_net(net, model.history_ if continues else [])
            model._keep_calibration(net, calibration)
            return model

        with plain_torch(net.device_type):
            with self._prepared(net, rows, calibration, criterion, settings) as options:
                fit_net(
                    net,
                    rows,
                    valid_rows,
                    settings,
                    optimizer=net.make_optimizer(self.optimizer, settings.learning_rate, **options),
                    loss=criterion,
                    batch_options=self._batch_options(net),
                    first_callbacks=[] if unseen is None else [unseen],
                    last_callbacks=epoch_reports(self, lambda: keep(self._shallow_copy())),
                )
            net.rows_per_step = net.rows_per_step or settings.batch_size
            net.check_scores(rows)
            calibrate_net(
                net,
                calibration,
                rows,
                held_out,
                unseen,
                calibrate=calibrate,
                earlier=earlier,
                remembers=not (continues or settings.partial),
            )
        return keep(self)

    def _stopping(self) -> EarlyStopping | None:
        return as_early_stopping(self.early_stopping, EarlyStopping())

    def _check_unchanged(self, wanted: dict[str, Any], trained: dict[str, Any]) -> None:
        """Check that the trained net still has the wanted parameters, device and optimizer."""
        from sklearn_hashnlp.training._optimizers import name_of

        optimizer = self.net_.optimizer_
        if optimizer.state:
            wanted, trained = (
                wanted | {"optimizer": self.optimizer},
                trained | {"optimizer": name_of(optimizer)},
            )
        check_unchanged(self, wanted, trained, device=self.net_.device, parameters=_PARAMETERS)

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
        return Labels(
            self.classes_, self._loss.multilabel, self._label_lists, self._loss.takes_soft_labels
        )

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self._scores_by_net(self._rows(X))

    def _scores_by_net(self, rows: Any, *vectors: Any) -> NDArray[np.float64]:
        """Compute the scores of checked rows by torch, from their vectors if they are known."""
        from sklearn_hashnlp.training._torch_scope import plain_torch

        with plain_torch(self.net_.device_type):
            scores: NDArray[np.float64] = self.net_.score_rows(rows, *vectors)
        if not np.isfinite(scores).all():
            raise self._not_finite()
        return scores

    def _not_finite(self) -> ValueError:
        return ValueError(
            f"{type(self).__name__} cannot predict labels: a score is infinite or not a number. If "
            f"the training diverged, {train_anew(self)}. Otherwise values in X are too large: "
            "scale them down."
        )

    def _keep_labels(self, labels: Labels) -> None:
        self.classes_, self._label_lists = labels.classes, labels.lists

    def _keep_calibration(self, net: ClassifierNet, calibration: Calibration) -> None:
        self._calibration = calibration

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        check_is_fitted(self)
        values, arrays = self._state()
        return values | self._pack_labels() | {"history": self.history_}, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._unpack_labels(values)
        n_classes = values["architecture"]["num_classes"]
        if n_classes != len(self.classes_):
            raise ValueError(
                f"The net has {n_classes} classes, but the model has {len(self.classes_)} labels."
            )
        self._load(values, arrays, values["history"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = takes_several_labels(self.loss)
        return tags
