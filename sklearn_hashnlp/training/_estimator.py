"""Base class of estimators with a trained net: history, pickling and state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._sklearn import CallbackSupportMixin
from sklearn_hashnlp.training._optimizer_state import Packed
from sklearn_hashnlp.training._settings import HasBundles

if TYPE_CHECKING:  # torch is imported where a net is made
    from sklearn_hashnlp.training._loop import Net

_MAX_ROWS = 60


class HistoryTable(list[dict[str, Any]]):
    """One dict per epoch; displayed as a table in notebooks."""

    def _repr_html_(self) -> str:
        names = list(dict.fromkeys(name for entry in self for name in entry))
        shown = (
            list(self)
            if len(self) <= _MAX_ROWS
            else [*self[: _MAX_ROWS // 2], None, *self[-_MAX_ROWS // 2 :]]
        )
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        rows = "".join(
            f'<tr><td colspan="{len(names)}">... {len(self) - _MAX_ROWS:,} more</td></tr>'
            if entry is None
            else f"<tr>{''.join(f'<td>{_cell(entry.get(name))}</td>' for name in names)}</tr>"
            for entry in shown
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))


# counts in skorch's history
_NO_MEASURES = frozenset({"epoch", "train_batch_count", "valid_batch_count"})


# a base class without types
class FittedNet(HasBundles, CallbackSupportMixin):  # type: ignore[misc]
    """The net and history of an estimator: stored, pickled, and saved as values and arrays."""

    _net: Any  # a Net
    history_: list[dict[str, Any]]
    n_parameters_: int
    _keeps_step_sizes: ClassVar[bool] = False  # whether every saved model contains them
    # metrics in ``history_``
    _measures: ClassVar[tuple[str, ...]] = ("train_loss", "valid_loss", "valid_acc", "dur")

    @property
    def net_(self) -> Any:
        """The trained net, a skorch.NeuralNet."""
        if "_net" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} has no net_: it is not fitted yet.")
        return self._net

    @staticmethod
    @abstractmethod
    def _net_from_state(
        values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]
    ) -> Net:
        """Build a trained net from its ``to_state``."""

    @abstractmethod
    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the fitted state as JSON values and arrays."""

    @abstractmethod
    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Load the result of :meth:`_get_model_state`, independent of the current parameters."""

    @contextmanager
    def _restored_on_error(self) -> Iterator[None]:
        """Restore all attributes, and the lengths of lists among them, if an error is raised."""
        before = self.__dict__.copy()
        lists = [
            value
            for name, value in before.items()
            if name.endswith("_") and isinstance(value, list)
        ]
        if "_net" in before:
            lists.append(self._net.history)
        lengths = [len(values) for values in lists]
        try:
            yield
        except BaseException:
            self.__dict__ = before
            for values, length in zip(lists, lengths, strict=True):
                del values[length:]
            raise

    def _shallow_copy(self) -> Self:
        """Return a copy that shares the net, which ``copy`` would pack."""
        model = type(self).__new__(type(self))
        model.__dict__ = vars(self).copy()
        return model

    def _learned(self) -> Any:
        """Return the learned net (None before fit) or an object with the same saving methods."""
        return self.__dict__.get("_net")

    def _state(self) -> Packed:
        """Return the learned values and arrays, of a table only the changed rows."""
        values, arrays = self._learned().to_state()
        if not self._keeps_step_sizes:
            return values, arrays
        step_sizes, accumulators = self._learned().to_step_sizes()
        return values | step_sizes, arrays | accumulators

    def _load(
        self, values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]
    ) -> None:
        """Set what was learned to the result of :meth:`_state`."""
        from sklearn_hashnlp.training._torch_scope import plain_torch

        net = self._net_from_state(values, arrays, history)
        if self._keeps_step_sizes:
            with plain_torch():
                net.load_step_sizes(values, arrays)
        self._keep_net(net, list(history))

    def _load_optimizer(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Load the state of the optimizer into what was learned."""
        from sklearn_hashnlp.training._torch_scope import plain_torch

        with plain_torch():
            self.net_.load_training_state(values, arrays)

    def _get_training_state(self) -> Packed | None:
        """Return the state to resume training; None if the model was not trained since loading."""
        learned = self._learned()
        return learned.to_training_state() if learned.has_training_state else None

    def _set_training_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Load the result of :meth:`_get_training_state`, after the model state."""
        self._load_optimizer(values, arrays)

    def _keep_net(self, net: Net, history: list[dict[str, Any]]) -> None:
        """Set the net, its number of parameters and its history, extended by new epochs."""
        net.module_.eval()
        self._net = net
        self._keep_history(net.history[len(history) :], history)
        self.n_parameters_ = net.n_parameters

    def _keep_history(self, epochs: list[dict[str, Any]], history: list[dict[str, Any]]) -> None:
        """Set the history, extended by epochs."""
        history = history if isinstance(history, HistoryTable) else HistoryTable(history)
        history += [
            {"epoch": int(entry["epoch"])}
            | {name: float(entry[name]) for name in self._names_in(entry)}
            for entry in epochs
            if "dur" in entry
        ]
        self.history_ = history  # not copied: a stream has many calls

    def _names_in(self, epoch: dict[str, Any]) -> list[str]:
        """Return the names of the metrics of an epoch, and of numbers recorded by callbacks."""
        known = [name for name in self._measures if name in epoch]
        others = epoch.keys() - {*known, *_NO_MEASURES}
        numbers = [
            name
            for name in epoch
            if name in others and isinstance(epoch[name], int | float | np.number)
        ]
        return known + [name for name in numbers if not isinstance(epoch[name], bool)]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        learned = self._learned()
        if learned is None:
            return state
        without = {name: value for name, value in state.items() if name not in ("_net", "_model")}
        optimizer = learned.to_training_state() if learned.has_training_state else None
        return without | {"_packed": self._state(), "_packed_optimizer": optimizer}

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed, optimizer = state.pop("_packed", None), state.pop("_packed_optimizer", None)
        super().__setstate__(state)
        if packed is not None:
            values, arrays = packed
            self._load(values, arrays, self.history_)
        if optimizer is not None:
            self._load_optimizer(*optimizer)
