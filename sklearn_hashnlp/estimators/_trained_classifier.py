"""What a trained classifier does: score rows by its net, and go out as values and arrays and come back."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.estimators._labelled_rows import LabelledRows
from sklearn_hashnlp.estimators._model_state import pack_labels, unpack_labels
from sklearn_hashnlp.estimators._probabilities import Probabilities, fit_sharpness
from sklearn_hashnlp.estimators._row_net import RowNet
from sklearn_hashnlp.estimators._scoring_classifier import ScoringClassifier
from sklearn_hashnlp.estimators._training import plain_torch

_CALIBRATED_ROWS = 10_000


class TrainedClassifier(ScoringClassifier):
    """The half of a classifier that needs a trained net and none of the parameters."""

    net_: RowNet
    n_features_in_: int
    history_: list[dict[str, Any]]
    _rows_seen: int
    _if_not_diverged: ClassVar[str] = "values in X are too large: scale them down"

    @abstractmethod
    def _rows(self, X: Any) -> LabelledRows:
        """Check rows, and make them what the net reads."""

    @staticmethod
    @abstractmethod
    def _net_from_state(
        values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]
    ) -> RowNet:
        """Make a trained net again from what its ``to_state`` gave."""

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        rows = self._rows(X)
        with plain_torch(torch.device(self.net_.device).type):
            scores = self.net_.score_rows(rows)
        self._check_finite(scores)
        return scores

    def _check_finite(self, scores: NDArray[np.float64]) -> None:
        if not np.isfinite(scores).all():
            raise ValueError(
                f"{type(self).__name__} cannot tell labels: a score is infinite or not a number. After a training that "
                f"diverged the model is lost: call fit with warm_start=False. Else {self._if_not_diverged}."
            )

    def _calibrate(self, net: RowNet, rows: LabelledRows, known_rows: int) -> float:
        some = rows.select(np.arange(len(rows))[:: -(-len(rows) // _CALIBRATED_ROWS)])
        return fit_sharpness(
            net.score_rows(some),
            some.targets,
            some.row_weights,
            known=self._probabilities.sharpness if known_rows else 1.0,
            known_rows=min(known_rows, _CALIBRATED_ROWS),
        )

    def _hold(self, net: RowNet, history: list[dict[str, Any]]) -> None:
        net.module_.eval()
        self.net_ = net
        history += map(_plain_entry, islice(net.history, len(history), None))
        self.history_ = history  # added to and not copied: a stream has many calls
        self.n_parameters_ = sum(parameter.numel() for parameter in net.module_.parameters())

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return everything learned, as JSON values and as arrays."""
        check_is_fitted(self)
        values, arrays = self.net_.to_state()
        values |= {
            "classes": pack_labels(self.classes_),
            "n_features_in": int(self.n_features_in_),
            "history": self.history_,
            "probabilities": asdict(self._probabilities),
            "rows_seen": self._rows_seen,
        }
        if hasattr(self, "feature_names_in_"):
            values["feature_names_in"] = [str(name) for name in self.feature_names_in_]
        return values, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what :meth:`_get_model_state` gave, whatever the parameters are by now."""
        self.classes_ = unpack_labels(values["classes"])
        self.n_features_in_ = int(values["n_features_in"])
        if "feature_names_in" in values:
            self.feature_names_in_ = np.array(values["feature_names_in"], dtype=object)
        if values["architecture"]["num_classes"] != len(self.classes_):
            raise ValueError(
                f"The net tells {values['architecture']['num_classes']} classes apart, and there are "
                f"{len(self.classes_)} labels."
            )
        # The first models had the softmax, and no count of what they had seen.
        self._probabilities = Probabilities(**values.get("probabilities", {"loss": "softmax", "multilabel": False}))
        self._rows_seen = int(values.get("rows_seen", 0))
        self._hold(self._net_from_state(values, arrays, values["history"]), [])

    def _get_training_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        """Return what only further training needs; None if nothing was trained since the model was loaded."""
        return self.net_.to_training_state() if self.net_.optimizer_.state else None

    def _set_training_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what :meth:`_get_training_state` gave, after the model state."""
        self.net_.load_training_state(values, arrays)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "net_" in state:  # by its learned values: a table that is mostly untouched is not written out
            state["net_"] = self.net_.to_state()
            state["_training_state"] = self._get_training_state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        net_state, training_state = state.pop("net_", None), state.pop("_training_state", None)
        super().__setstate__(state)
        if net_state is not None:
            values, arrays = net_state
            self._hold(self._net_from_state(values, arrays, self.history_), list(self.history_))
        if training_state is not None:
            self._set_training_state(*training_state)


def _plain_entry(entry: dict[str, Any]) -> dict[str, Any]:
    measures = ("train_loss", "valid_loss", "valid_acc", "dur")
    return {"epoch": int(entry["epoch"])} | {name: float(entry[name]) for name in measures if name in entry}
