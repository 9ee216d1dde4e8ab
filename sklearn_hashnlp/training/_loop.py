"""A skorch net with its training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from skorch import NeuralNet
from skorch.callbacks import Callback, PassthroughScoring
from skorch.history import History
from skorch.utils import TeeGenerator
from torch import Tensor, nn
from torch.optim import Optimizer

from sklearn_hashnlp.optim import RowwiseAdagrad, clip_grad_norm_
from sklearn_hashnlp.optim._rowwise_optimizer import RowwiseOptimizer
from sklearn_hashnlp.persistence._tables import check_shape, check_stored, pack_table, unpack_table
from sklearn_hashnlp.training._batches import Batches
from sklearn_hashnlp.training._callbacks import EpochClock, EpochLog, EpochReports
from sklearn_hashnlp.training._fit_task import Interrupt, StopTraining, current_interrupt
from sklearn_hashnlp.training._optimizer_state import (
    OptimizerName,
    OptimizerState,
    pack_step_sizes,
    unpack_step_sizes,
)
from sklearn_hashnlp.training._optimizers import OPTIMIZERS, load_state, read_state, shapes_of
from sklearn_hashnlp.training._torch_scope import plain_torch, shapes_only, torch_seed
from sklearn_hashnlp.trees import SoftmaxTree

_BLOCK = 2**18
_EXTRA = "._extra_state"


def module_to_arrays(module: nn.Module, tables: Mapping[str, float]) -> dict[str, NDArray[Any]]:
    """Return all weights; of ``tables``, given with their initial values, only the trained rows."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, tensor in module.state_dict().items():
        array = tensor.detach().cpu().contiguous().numpy()
        arrays |= pack_table(name, array, tables[name]) if name in tables else {name: array.copy()}
    return arrays


def load_arrays(
    module: nn.Module, arrays: Mapping[str, NDArray[Any]], tables: Mapping[str, float]
) -> None:
    """Load the result of :func:`module_to_arrays` into a module with untrained tables."""
    with torch.no_grad():
        for name, tensor in module.state_dict().items():  # these share memory with the module
            if name in tables:
                table = tensor.cpu()  # shares memory on the CPU
                unpack_table(name, arrays, table.numpy())
                if tensor.device.type != "cpu":
                    tensor.copy_(table)
            elif name.endswith(_EXTRA):
                state = torch.from_numpy(np.array(arrays[name]))
                module.get_submodule(name.removesuffix(_EXTRA)).set_extra_state(state)
            else:
                check_shape(name, arrays[name], tuple(tensor.shape))
                if tensor.is_floating_point() != (arrays[name].dtype.kind == "f"):
                    raise ValueError(
                        f"The array {name!r} is of {arrays[name].dtype}, and the model has "
                        f"{tensor.dtype}."
                    )
                tensor.copy_(torch.from_numpy(np.array(arrays[name])))


def check_shapes(module: nn.Module, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Compare the shapes of a module with stored arrays; of tables only the columns."""
    for name, tensor in module.state_dict().items():
        if not name.endswith(_EXTRA):
            check_stored(name, arrays, tuple(tensor.shape))


MEASURED_EVERY = {"cpu": 1, "cuda": 100}  # batches: reading a loss synchronizes with CUDA
# batches, a multiple of the others: a shorter rise of the loss is not a divergence
_CHECKED_EVERY = 200

Step = Callable[[], dict[str, Any]]
Steps = Generator[tuple[Any, Step], None, None]

_TREE = "tree."  # prefix of the tree's arrays


class EpochHistory(History):  # type: ignore[misc]  # skorch has no types
    """skorch's history without copying all epochs on each access: a stream has one per call."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int | slice):
            return list.__getitem__(self, index)
        if isinstance(index, tuple) and isinstance(index[0], int):
            return History([list.__getitem__(self, index[0])])[(0, *index[1:])]
        return super().__getitem__(index)


class Net(NeuralNet):  # type: ignore[misc]  # skorch has no types
    """A skorch net with low overhead per batch; SIGINT stops training after a batch or epoch."""

    # A time of time.perf_counter: training then stops, as if by a callback after a short epoch.
    deadline: float | None = None
    max_grad_norm: float | None = None  # of the gradient of all parameters
    # batch size of the first training: smaller batches take a smaller step
    rows_per_step: int | None = None
    # whether the optimizer was loaded without its full training state
    has_only_step_sizes: bool = False
    # Whether it was trained since it was built or loaded, or before it was saved with its training
    # state
    was_trained: bool = False
    interrupted_ = False  # whether SIGINT stopped the last training
    # results of a step that are recorded in the history
    measures: ClassVar[tuple[str, ...]] = ("loss",)
    # whether the history holds all batches, which needs memory for a large corpus
    keeps_batches: ClassVar[bool] = True
    has_sparse_gradients: ClassVar[bool] = False
    eps: ClassVar[float] = 1e-10  # of AdaGrad
    validation: ClassVar[str] = ""  # message on how to get a validation set
    optimizer_: Optimizer
    _interrupt: Interrupt
    divergence: ClassVar[str] = (
        "The training diverged: the loss is infinite or not a number. Set a smaller learning_rate."
    )

    def __init__(self, module: Any, criterion: Any = nn.Identity, **options: Any) -> None:
        defaults = {
            "iterator_train": Batches,
            "iterator_valid": Batches,
            "train_split": None,
            "verbose": 0,
        }
        super().__init__(module, criterion=criterion, **defaults | options)

    @property
    def device_type(self) -> str:
        """The kind of the device, such as "cuda"."""
        return torch.device(self.device).type

    @property
    def _default_callbacks(self) -> list[tuple[str, Any]]:
        return [
            ("epoch_timer", EpochClock()),
            ("train_loss", PassthroughScoring("train_loss", on_train=True)),
            ("valid_loss", PassthroughScoring("valid_loss")),
            *self._metric_callbacks(),
            ("print_log", EpochLog()),
        ]

    def _metric_callbacks(self) -> list[tuple[str, Any]]:
        """Return callbacks that record more metrics of an epoch than the loss."""
        return []

    def fit_loop(self, X: Any, y: Any = None, epochs: int | None = None, **_fit_params: Any) -> Net:
        """Train for some epochs; an interrupted epoch is removed from the history."""
        train, valid = self.get_split_datasets(X, y)
        batches = self.get_iterator(train, training=True)
        valid_batches = None if valid is None else self.get_iterator(valid, training=False)
        with self._ended_by_callbacks():
            for _ in range(self.max_epochs if epochs is None else epochs):
                self.notify("on_epoch_begin", dataset_train=train, dataset_valid=valid)
                # an error holds its frame, and threads in it
                with closing(self.training_steps(batches)) as steps:
                    self._run_epoch(steps, "train")
                if valid_batches is not None:
                    with closing(self.validation_steps(valid_batches)) as steps:
                        self._run_epoch(steps, "valid")
                self._end_epoch(dataset_train=train, dataset_valid=valid)
        return self

    def initialize_history(self) -> Net:
        """Start an empty history."""
        self.history_ = EpochHistory()
        return self

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Start an epoch in the history."""
        super().on_epoch_begin(net, **kwargs)
        if not self.keeps_batches:
            for entry in self.history[-2:-1]:
                entry["batches"] = []

    def training_steps(self, batches: Iterable[Any]) -> Steps:
        """Return each batch with the function that trains on it; overridden for compiled steps."""
        return ((batch, partial(self.train_step, batch)) for batch in batches)

    def validation_steps(self, batches: Iterable[Any]) -> Steps:
        """Return each batch with the function that evaluates it."""
        return ((batch, partial(self.validation_step, batch)) for batch in batches)

    def train_step(self, batch: Any, **_: Any) -> dict[str, Any]:
        """Take a step: forward pass, loss, backward pass, optimizer."""
        if not self.module_.training:
            self._set_training(True)
        self.optimizer_.zero_grad()
        loss, outputs = self.batch_loss(batch)
        torch.autograd.backward(loss * self.step_scale(batch))
        for hook in self.hooks("on_grad_computed"):
            hook(
                self,
                named_parameters=TeeGenerator(self.get_all_learnable_params()),
                batch=batch,
                training=True,
            )
        if self.max_grad_norm is not None:
            clip_grad_norm_(self.module_.parameters(), self.max_grad_norm)
        self.optimizer_.step()
        return {"loss": loss, "y_pred": outputs}

    def batch_loss(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Compute the mean loss of a batch, and the outputs for callbacks."""
        X, y = batch
        outputs = self.infer(X)
        return self.get_loss(outputs, y, X=X, training=True), outputs

    def step_scale(self, batch: Any) -> float:
        """Return the factor of a batch's gradients: a small batch takes a smaller step."""
        return (
            1.0 if self.rows_per_step is None else min(1.0, self.n_rows(batch) / self.rows_per_step)
        )

    def n_rows(self, batch: Any) -> int:
        """Return the weight of a batch in the means of an epoch."""
        return len(batch[0])

    def hooks(self, name: str) -> list[Callable[..., None]]:
        """Return the methods of callbacks that override ``name``."""
        methods = (getattr(callback, name) for _, callback in self.callbacks_)
        return [
            method
            for method in methods
            if getattr(method, "__func__", None) is not getattr(Callback, name)
        ]

    def _run_epoch(self, steps: Iterable[tuple[Any, Step]], prefix: str) -> None:
        """Take the steps of an epoch and record their results in the history."""
        training = prefix == "train"
        before, after = self.hooks("on_batch_begin"), self.hooks("on_batch_end")
        # Callbacks after a batch may read its loss.
        measured_every = 1 if after else MEASURED_EVERY[self.device_type]
        records: list[dict[str, Any]] = self.history[-1]["batches"]
        n_batches, waiting = 0, []
        for batch, take_step in steps:
            records.append({f"{prefix}_batch_size": self.n_rows(batch)})
            for hook in before:
                hook(self, batch=batch, training=training)
            step = take_step()
            n_batches += 1
            waiting.append(
                {f"{prefix}_{name}": step[name].detach() for name in self.measures if name in step}
            )
            if len(waiting) == measured_every:
                self._record(records, waiting, training)
                waiting = []
            for hook in after:
                hook(self, batch=batch, training=training, **step)
            if self._interrupt.pending:
                raise StopTraining
            if training and self.time_is_over():
                break
        self._record(records, waiting, training)
        self.history.record(f"{prefix}_batch_count", n_batches)

    def _record(
        self, records: list[dict[str, Any]], waiting: list[dict[str, Tensor]], training: bool
    ) -> None:
        if not waiting:
            return
        names = list(waiting[0])
        values = torch.stack([measures[name] for measures in waiting for name in names]).tolist()
        for index, record in enumerate(records[-len(waiting) :]):
            record.update(zip(names, values[index * len(names) :], strict=False))
        if not training:
            return
        if not all(map(math.isfinite, values)):
            raise ValueError(self.divergence)
        if len(records) % _CHECKED_EVERY == 0:
            self.check_loss(
                sum(record["train_loss"] for record in records[-_CHECKED_EVERY:]) / _CHECKED_EVERY
            )

    def check_loss(self, loss: float) -> None:
        """Raise an error if the mean training loss of many batches indicates divergence."""

    def _end_epoch(self, **datasets: Any) -> None:
        """Call every callback before one of them, or the deadline, stops the training."""
        self._n_finished = len(self.history)
        stops = False
        self.on_epoch_end(self, **datasets)
        for _, callback in self.callbacks_:
            try:
                callback.on_epoch_end(self, **datasets)
            except (StopTraining, KeyboardInterrupt) as stop:  # skorch's callbacks raise the latter
                if self._interrupt.raised and isinstance(stop, KeyboardInterrupt):
                    raise
                stops = True  # the last line must still be printed
            except KeyError as error:
                of_net = not isinstance(callback, EpochReports)
                if (
                    not of_net
                    or datasets["dataset_valid"] is not None
                    or "valid_" not in str(error)
                ):
                    raise
                raise ValueError(
                    f"The callback {type(callback).__name__} needs a validation set: "
                    f"{error.args[0]} {self.validation}"
                ) from error
        if stops or self.time_is_over() or self._interrupt.pending:
            raise StopTraining

    @contextmanager
    def _ended_by_callbacks(self) -> Iterator[None]:
        """End training when a callback or the first SIGINT stops it; drop an unfinished epoch."""
        self._interrupt = current_interrupt()
        self._interrupt.deferred = True
        self._n_finished = len(self.history)
        try:
            yield
        except StopTraining:
            pass
        except KeyboardInterrupt:
            if self._interrupt.raised:
                raise
        finally:
            del self.history[self._n_finished :]
        self.interrupted_ = self._interrupt.pending

    def time_is_over(self) -> bool:
        """Return whether the deadline has passed."""
        return self.deadline is not None and time.perf_counter() >= self.deadline

    @property
    def n_parameters(self) -> int:
        """The number of parameters."""
        return sum(parameter.numel() for parameter in self.module_.parameters())

    def tables(self) -> dict[str, float]:
        """Return the names of tables with few trained rows, and the initial value of their rows."""
        return {}

    def architecture(self) -> dict[str, Any]:
        """Return the architecture of the module as JSON values."""
        architecture: dict[str, Any] = self.get_params_for("module")["architecture"]
        return architecture

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return architecture and device as JSON values, and weights and tree as arrays."""
        arrays = module_to_arrays(self.module_, self.tables())
        tree = self.get_params_for("module").get("tree")
        if tree is not None:
            arrays |= {f"{_TREE}{name}": array for name, array in tree.to_arrays().items()}
        return {"architecture": self.architecture(), "device": self.device_type}, arrays

    def initialized(self, seed: int) -> Self:
        """Draw the initial weights."""
        with plain_torch(self.device), torch_seed(seed, self.device):
            self.initialize()
        return self

    def restore(
        self, arrays: dict[str, NDArray[Any]], device: str, history: list[dict[str, Any]]
    ) -> Self:
        """Load weights and history into an uninitialized net on the CPU."""
        with plain_torch():
            with torch_seed(0):  # drawn values are overwritten; the user's generator is not changed
                with shapes_only():  # a damaged file may specify a module larger than the memory
                    specified = self.module(**self.get_params_for("module"))
                    self.match_shapes(specified, arrays)
                check_shapes(specified, arrays)
                self.initialize()
            self.match_shapes(self.module_, arrays)
            load_arrays(self.module_, arrays, self.tables())
            if device == "cuda" and torch.cuda.is_available():
                self.set_params(device="cuda")
                self.module_.to("cuda")
            self.module_.eval()
        self.history = EpochHistory({"batches": []} | entry for entry in history)
        return self

    def match_shapes(self, module: nn.Module, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Prepare a module with shapes that depend on the learned arrays."""

    @property
    def has_training_state(self) -> bool:
        """Whether training can continue as if the net had never been saved."""
        return self.was_trained or (bool(self.optimizer_.state) and not self.has_only_step_sizes)

    def to_step_sizes(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the minimum state needed for further training; it is saved with every model."""
        state = read_state(self.module_, self.optimizer_)
        return pack_step_sizes(state, self.rows_per_step, shapes_of(self.module_), self.tables())

    def load_step_sizes(
        self, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> None:
        """Load the result of :meth:`to_step_sizes`; converted or untrained models have none."""
        state, self.rows_per_step = unpack_step_sizes(values, arrays, shapes_of(self.module_))
        if state is not None:
            self.has_only_step_sizes = True
            self.restore_optimizer(state)

    def to_training_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the full state of the optimizer, needed to resume training exactly."""
        return read_state(self.module_, self.optimizer_).to_training_state(self.tables())

    def load_training_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Load an optimizer with its state."""
        self.restore_optimizer(
            OptimizerState.from_training_state(shapes_of(self.module_), values, arrays)
        )
        self.was_trained = True

    def restore_optimizer(self, state: OptimizerState) -> None:
        """Build an optimizer with a state."""
        # checked when it was read
        self.optimizer_ = self.make_optimizer(state.optimizer)  # type: ignore[arg-type]
        load_state(self.module_, self.optimizer_, state)

    def make_optimizer(
        self,
        name: OptimizerName,
        learning_rate: float = 0.0,
        *,
        eps: float | None = None,
        weight_decay: float = 0.0,
        factors: Mapping[str, float] = MappingProxyType({}),
    ) -> RowwiseOptimizer:
        """Build a new optimizer with the net's parameter groups; ``eps`` is AdaGrad's."""
        eps = self.eps if eps is None else eps
        groups = self.parameter_groups(name, learning_rate, eps, factors)
        if name == "adagrad":
            return RowwiseAdagrad(groups, lr=learning_rate, eps=eps, weight_decay=weight_decay)
        groups = [{key: value for key, value in group.items() if key != "eps"} for group in groups]
        optimizer: RowwiseOptimizer = OPTIMIZERS[name](
            groups, lr=learning_rate, weight_decay=weight_decay
        )
        return optimizer

    def parameter_groups(
        self, name: OptimizerName, learning_rate: float, eps: float, factors: Mapping[str, float]
    ) -> list[dict[str, Any]]:
        """Return an optimizer's parameter groups, with learning rate ``factors`` of parameters."""
        return [{"params": list(self.module_.parameters())}]


def stored_tree(arrays: Mapping[str, NDArray[Any]]) -> SoftmaxTree | None:
    """Return the tree among the arrays of a net's state, or None."""
    stored = {
        name.removeprefix(_TREE): array for name, array in arrays.items() if name.startswith(_TREE)
    }
    return SoftmaxTree.from_arrays(stored) if stored else None
