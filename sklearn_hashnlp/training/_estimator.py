"""Base class of estimators with a trained net: history, pickling, state, and atomic ``fit``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._sklearn import CallbackSupportMixin
from sklearn_hashnlp.training._interrupts import deferred_interrupt
from sklearn_hashnlp.training._optimizer_state import Packed
from sklearn_hashnlp.training._settings import HasBundles

if TYPE_CHECKING:  # torch is imported where a net is made
    from sklearn_hashnlp.training._loop import Net

_MAX_ROWS = 60


class History(list[dict[str, Any]]):
    """One dict per epoch; displayed as a table in notebooks."""

    def _repr_html_(self) -> str:
        names = list(dict.fromkeys(name for entry in self for name in entry))
        shown = list(self) if len(self) <= _MAX_ROWS else [*self[: _MAX_ROWS // 2], None, *self[-_MAX_ROWS // 2 :]]
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


Method = TypeVar("Method", bound=Callable[..., Any])

_NO_MEASURES = frozenset({"epoch", "train_batch_count", "valid_batch_count"})  # counts in skorch's history


class FittedNet(HasBundles, CallbackSupportMixin):  # type: ignore[misc]  # a base class without types
    """The net and the history of an estimator: stored after training, pickled, and saved as values and arrays."""

    _net: Any  # a Net
    history_: list[dict[str, Any]]
    n_parameters_: int
    _keeps_step_sizes: ClassVar[bool] = False  # whether every saved model contains them
    _measures: ClassVar[tuple[str, ...]] = ("train_loss", "valid_loss", "valid_acc", "dur")  # metrics in ``history_``

    @property
    def net_(self) -> Any:
        """The trained net, a skorch.NeuralNet."""
        if "_net" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} has no net_: it is not fitted yet.")
        return self._net

    @staticmethod
    @abstractmethod
    def _net_from_state(values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]) -> Net:
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
        lists = [value for name, value in before.items() if name.endswith("_") and isinstance(value, list)]
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

    def _get_training_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        """Return the state needed to resume training; None if the model was not trained since loading."""
        return self.net_.to_training_state() if self.net_.has_training_state else None

    def _set_training_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Load the result of :meth:`_get_training_state`, after the model state."""
        from sklearn_hashnlp.training._torch_scope import plain_torch

        with plain_torch():
            self.net_.load_training_state(values, arrays)

    def _keep_net(self, net: Net, history: list[dict[str, Any]]) -> None:
        """Set the net, its number of parameters and its history, extended by new epochs."""
        net.module_.eval()
        self._net = net
        self._keep_history(net.history[len(history) :], history)
        self.n_parameters_ = sum(parameter.numel() for parameter in net.module_.parameters())

    def _keep_history(self, epochs: list[dict[str, Any]], history: list[dict[str, Any]]) -> None:
        """Set the history, extended by epochs."""
        history = history if isinstance(history, History) else History(history)
        history += [
            {"epoch": int(entry["epoch"])} | {name: float(entry[name]) for name in self._names_in(entry)}
            for entry in epochs
            if "dur" in entry
        ]
        self.history_ = history  # not copied: a stream has many calls

    def _names_in(self, epoch: dict[str, Any]) -> list[str]:
        """Return the names of the metrics of an epoch, and of numbers recorded by callbacks."""
        known = [name for name in self._measures if name in epoch]
        others = epoch.keys() - {*known, *_NO_MEASURES}
        numbers = [name for name in epoch if name in others and isinstance(epoch[name], int | float | np.number)]
        return known + [name for name in numbers if not isinstance(epoch[name], bool)]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        net = state.pop("_net", None)
        return state if net is None else state | self._packed(net)

    def _packed(self, net: Any) -> dict[str, Any]:
        """Return a net as arrays: only the changed rows of a table are written."""
        return {
            "_net_state": net.to_state(),
            "_step_sizes": net.to_step_sizes() if self._keeps_step_sizes else None,
            "_optimizer_state": net.to_training_state() if net.has_training_state else None,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed = [state.pop(name, None) for name in ("_net_state", "_step_sizes", "_optimizer_state")]
        super().__setstate__(state)
        if packed[0] is not None:
            self._unpack(*packed)

    def _unpack(self, net_state: Packed, step_sizes: Packed | None, optimizer_state: Packed | None) -> None:
        """Load the result of :meth:`_packed`; the history is already set."""
        from sklearn_hashnlp.training._torch_scope import plain_torch

        self._keep_net(self._net_from_state(net_state[0], net_state[1], self.history_), list(self.history_))
        with plain_torch():
            if step_sizes is not None:
                self.net_.load_step_sizes(*step_sizes)
            if optimizer_state is not None:
                self.net_.load_training_state(*optimizer_state)


def atomic_fit(fit: Method) -> Method:
    """Decorate ``fit`` or ``partial_fit``: an error restores the estimator, SIGINT leaves it fitted."""

    @wraps(fit)
    def fit_or_restore(self: FittedNet, *args: Any, **kwargs: Any) -> Any:
        with deferred_interrupt(), self._restored_on_error():
            return fit(self, *args, **kwargs)

    return cast(Method, fit_or_restore)
