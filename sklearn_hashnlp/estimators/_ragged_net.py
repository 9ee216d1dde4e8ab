"""The skorch net inside HashEmbeddingClassifier."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import torch
from joblib import cpu_count
from numpy.typing import NDArray
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback, EpochTimer, PassthroughScoring, PrintLog
from skorch.history import History
from skorch.utils import TeeGenerator
from torch import Tensor, nn

from sklearn_hashnlp.estimators._batches import RaggedBatches, RaggedRows
from sklearn_hashnlp.estimators._compiled_training import CompiledTraining, trains_compiled
from sklearn_hashnlp.estimators._hash_embedding_net import BagOfHashEmbeddings
from sklearn_hashnlp.estimators._in_threads import in_threads
from sklearn_hashnlp.estimators._net_optimizer import pack_optimizer, unpack_optimizer
from sklearn_hashnlp.estimators._ragged_batch import RaggedBatch
from sklearn_hashnlp.estimators._row_losses import SoftmaxLoss
from sklearn_hashnlp.estimators._training import one_torch_thread, plain_torch, torch_seed
from sklearn_hashnlp.nn import RowwiseAdagrad

PREDICT_ROWS = 1024
PREDICT_VALUES = 2**18  # long rows: some 40 MB of component vectors at the default sizes
_MEASURED_EVERY = {"cpu": 1, "cuda": 100}  # batches: asking CUDA for a loss means waiting for it
_DIVERGED = (
    "The training diverged: the loss or a score is infinite or not a number. Set a smaller learning_rate; and with "
    "normalize=None scale X down, or set normalize='l2'."
)


class RaggedNet(NeuralNetClassifier):  # type: ignore[misc]
    """A skorch classifier of class numbers whose batches are :class:`RaggedBatch`.

    Its criterion gives one loss a row, of which the mean is taken, weighted where the rows are. Its history holds the
    validation accuracy. A callback that ends training, by raising ``KeyboardInterrupt`` at the end of an epoch as
    skorch's do, does so after all the others have had their turn.

    What skorch does for every batch takes longer than the batch. So only those callbacks are called for a batch that
    have something to do then, and the optimiser is given no closure.

    Attributes
    ----------
    deadline : float or None
        The time, by :func:`time.perf_counter`, at which training ends as if a callback had ended it. The epoch is cut
        short after the batch in which the time comes, and closed.
    multilabel : bool
        Whether a row may have several classes: :meth:`predict` then tells those with a probability above a half.
    interrupted_ : bool
        Whether training was ended by something else than such a callback: by the user.
    """

    deadline: float | None = None
    multilabel = False

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Give what :func:`net_from_state` needs to make this net again.

        Returns
        -------
        values : dict
            JSON values: ``architecture``, the module's keyword arguments, and ``device``.
        arrays : dict of str to ndarray
            The weights.
        """
        values = {"architecture": self.get_params_for("module"), "device": torch.device(self.device).type}
        return values, self.module_.to_arrays()

    def to_training_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Give what only further training needs: what the optimiser has gathered.

        Returns
        -------
        values : dict
            JSON values.
        arrays : dict of str to ndarray
            Accumulators.
        """
        return pack_optimizer(self.module_, self.optimizer_)

    def load_training_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what :meth:`to_training_state` gave.

        Parameters
        ----------
        values, arrays
            As there.

        Raises
        ------
        ValueError
            If they do not fit this net.
        """
        self.optimizer_ = unpack_optimizer(self.module_, values, arrays)

    @property
    def _default_callbacks(self) -> list[tuple[str, Any]]:
        return [
            ("epoch_timer", EpochTimer()),
            ("train_loss", PassthroughScoring("train_loss", on_train=True)),
            ("valid_loss", PassthroughScoring("valid_loss")),
            ("valid_acc", PassthroughScoring("valid_acc", lower_is_better=False)),
            ("print_log", PrintLog()),
        ]

    def notify(self, method_name: str, **cb_kwargs: Any) -> None:
        """Call a method of every callback.

        Parameters
        ----------
        method_name : str
            Which.
        **cb_kwargs : dict
            Handed on to it.

        Raises
        ------
        KeyboardInterrupt
            If a callback ends training.
        """
        if method_name != "on_epoch_end":
            super().notify(method_name, **cb_kwargs)
            return
        stop = None
        self.on_epoch_end(self, **cb_kwargs)
        for _, callback in self.callbacks_:
            try:
                callback.on_epoch_end(self, **cb_kwargs)
            except KeyboardInterrupt as interrupt:
                stop = interrupt  # the last line is yet to be printed
        if self._time_is_over():
            stop = KeyboardInterrupt()
        if stop is not None:
            self._ended_by_callback = True
            raise stop

    def fit_loop(self, *args: Any, **kwargs: Any) -> RaggedNet:
        """Train, and leave no epoch in the history that was not finished.

        Parameters
        ----------
        *args, **kwargs
            As skorch's.

        Returns
        -------
        RaggedNet
            Itself.

        Raises
        ------
        KeyboardInterrupt
            If training was ended, for :meth:`partial_fit` to take as an end.
        """
        self.interrupted_ = self._ended_by_callback = False
        try:
            super().fit_loop(*args, **kwargs)
        except KeyboardInterrupt:
            self.interrupted_ = not self._ended_by_callback
            last = "train_loss" if self.train_split is None else "valid_acc"  # what an epoch's end records last
            if self.history and last not in self.history[-1]:
                del self.history[-1]
            raise
        return self

    def infer(self, x: RaggedBatch) -> Tensor:
        """Score one batch.

        Parameters
        ----------
        x : RaggedBatch
            On any device.

        Returns
        -------
        Tensor of shape (n_documents, n_classes)
            Scores, on the net's device.
        """
        x = x.to(self.device)
        scores: Tensor = self.module_(x.ids, x.offsets, x.weights)
        return scores

    def predict(self, X: RaggedRows) -> NDArray[np.int64]:
        """Tell the classes of rows, for skorch's callbacks.

        Parameters
        ----------
        X : RaggedRows
            Documents.

        Returns
        -------
        ndarray of shape (n_documents,) or (n_documents, n_classes), dtype int64
            Class numbers, or 1 for each class that a row has and else 0.
        """
        probabilities = self.predict_proba(X)
        found = probabilities > 0.5 if self.multilabel else probabilities.argmax(axis=1)
        return np.asarray(found, dtype=np.int64)

    def score_rows(self, rows: RaggedRows) -> NDArray[np.float64]:
        """Score all rows of a set.

        A matrix product's last bits depend on its number of rows, and a document's scores must not depend on its
        neighbours. So the head runs in float64, always on as many rows where there are as many, and what comes out is
        rounded to float32.

        Parameters
        ----------
        rows : RaggedRows
            Documents.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            Scores before the softmax.
        """
        head = deepcopy(self.module_.head).double().eval()
        scores, documents, n_documents = [], [], 0
        parts = RaggedBatches(rows, PREDICT_ROWS, most_values=PREDICT_VALUES).parts()
        n_threads = cpu_count() if torch.device(self.device).type == "cpu" else 1
        with torch.inference_mode():
            for vectors in in_threads(partial(self._embed, rows), parts, n_threads):
                documents.append(vectors)
                n_documents += len(vectors)
                if n_documents % PREDICT_ROWS == 0 or n_documents == len(rows):
                    block, documents = torch.cat(documents), []
                    scores.append(head(block.double()).float().cpu().numpy())
        return np.concatenate(scores).astype(np.float64)

    def _embed(self, rows: RaggedRows, part: slice) -> Tensor:
        batch = rows.take(part)[0].to(self.device)
        with one_torch_thread(), torch.inference_mode():  # each thread has modes of its own
            vectors: Tensor = self.module_.bag(batch.ids, batch.offsets, batch.weights)
        return vectors

    def get_loss(self, y_pred: Tensor, y_true: Tensor, X: Any = None, training: bool = False) -> Tensor:
        """Measure one batch.

        Parameters
        ----------
        y_pred : Tensor of shape (n_rows, n_classes)
            Scores.
        y_true : Tensor
            Targets, on any device.
        X : RaggedBatch
            The rows.
        training : bool, default=False
            As skorch's.

        Returns
        -------
        Tensor
            Mean over the rows of their loss times their weight.
        """
        losses: Tensor = self.criterion_(y_pred, y_true.to(y_pred.device))
        if X.row_weights is not None:
            losses = losses * X.row_weights.to(y_pred.device)
        return losses.mean()

    def run_single_epoch(
        self, iterator: Any, training: bool, prefix: str, step_fn: Callable[..., dict[str, Any]], **fit_params: Any
    ) -> None:
        """Go through the batches once.

        Parameters
        ----------
        iterator : RaggedBatches or None
            The batches; None does nothing.
        training : bool
            Whether to learn from them.
        prefix : str
            Begins the names in the history.
        step_fn : callable
            What to do with a batch.
        **fit_params : dict
            Handed on to it.

        Raises
        ------
        ValueError
            If a loss is infinite or not a number in training: nothing can be learned from there on.
        """
        if iterator is None:
            return
        before, after = self._hooks("on_batch_begin"), self._hooks("on_batch_end")
        # Who is called after a batch may want its loss.
        measured_every = 1 if after else _MEASURED_EVERY[torch.device(self.device).type]
        records: list[dict[str, Any]] = self.history[-1]["batches"]
        n_batches, waiting = 0, []
        if training and self._trains_compiled():
            self._set_training(True)
            steps = CompiledTraining(self.module_, self.optimizer_).steps(iterator)
        else:
            steps = ((batch, partial(step_fn, batch, **fit_params)) for batch in iterator)
        for batch, take_step in steps:
            records.append({f"{prefix}_batch_size": len(batch[0])})
            for hook in before:
                hook(self, batch=batch, training=training)
            step = take_step()
            n_batches += 1
            waiting.append({f"{prefix}_{name}": step[name].detach() for name in ("loss", "acc") if name in step})
            if len(waiting) == measured_every:
                _record(records, waiting, training)
                waiting = []
            for hook in after:
                hook(self, batch=batch, training=training, **step)
            if training and self._time_is_over():
                break
        _record(records, waiting, training)
        self.history.record(f"{prefix}_batch_count", n_batches)

    def train_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Learn from one batch.

        A single row has no variance: batch normalisation then takes its running statistics, and leaves them.

        Parameters
        ----------
        batch : (RaggedBatch, Tensor)
            Documents and targets.
        **fit_params : dict
            Not used.

        Returns
        -------
        dict
            ``loss`` and ``y_pred``, the scores.
        """
        rows, targets = batch
        if not self.module_.training:
            self._set_training(True)
        for layer in self.module_.head:
            if isinstance(layer, nn.BatchNorm1d):
                layer.train(len(rows) > 1)
        self.optimizer_.zero_grad()
        scores = self.infer(rows)
        loss = self.get_loss(scores, targets, X=rows, training=True)
        torch.autograd.backward(loss)
        for hook in self._hooks("on_grad_computed"):
            parameters = TeeGenerator(self.get_all_learnable_params())
            hook(self, named_parameters=parameters, batch=batch, training=True)
        self.optimizer_.step()
        return {"loss": loss, "y_pred": scores}

    def _trains_compiled(self) -> bool:
        return (
            type(self.criterion_) is SoftmaxLoss
            and not self._hooks("on_grad_computed")
            and trains_compiled(self.module_, self.optimizer_)
        )

    def _hooks(self, name: str) -> list[Callable[..., None]]:
        """Give the methods of that name of those callbacks that do something there."""
        methods = (getattr(callback, name) for _, callback in self.callbacks_)
        return [method for method in methods if getattr(method, "__func__", None) is not getattr(Callback, name)]

    def _time_is_over(self) -> bool:
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def check_scores(self, rows: RaggedRows) -> None:
        """Make sure that the last step, whose loss nobody sees, left usable weights.

        Parameters
        ----------
        rows : RaggedRows
            Some rows to score.

        Raises
        ------
        ValueError
            If a score is infinite or not a number.
        """
        if not np.isfinite(self.score_rows(rows)).all():
            raise ValueError(_DIVERGED)

    def validation_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Measure loss and accuracy of one batch.

        Parameters
        ----------
        batch : (RaggedBatch, Tensor)
            Documents and targets.
        **fit_params : dict
            Handed on to skorch.

        Returns
        -------
        dict
            As skorch's, and ``acc``: the share of rows with the right class, or with all classes right.
        """
        step: dict[str, Any] = super().validation_step(batch, **fit_params)
        scores, targets = step["y_pred"], batch[1].to(step["y_pred"].device)
        right = scores.argmax(dim=1) == targets if targets.dim() == 1 else ((scores > 0) == (targets > 0)).all(dim=1)
        return step | {"acc": right.double().mean()}


def _record(records: list[dict[str, Any]], waiting: list[dict[str, Tensor]], training: bool) -> None:
    if not waiting:
        return
    names = list(waiting[0])
    values = torch.stack([measures[name] for measures in waiting for name in names]).tolist()
    for place, record in enumerate(records[-len(waiting) :]):
        record.update(zip(names, values[place * len(names) :], strict=False))
    if training and not all(map(math.isfinite, values)):
        raise ValueError(_DIVERGED)


def make_net(architecture: dict[str, Any], device: str) -> RaggedNet:
    """Make a net that is not initialised yet.

    Parameters
    ----------
    architecture : dict
        Keyword arguments of :class:`BagOfHashEmbeddings`.
    device : {"cpu", "cuda"}
        Where it computes.

    Returns
    -------
    RaggedNet
        The net, silent and without anything that only training needs.
    """
    return RaggedNet(
        BagOfHashEmbeddings,
        classes=list(range(architecture["num_classes"])),
        **{f"module__{name}": value for name, value in architecture.items()},
        criterion=SoftmaxLoss,
        predict_nonlinearity=partial(torch.softmax, dim=-1),
        optimizer=RowwiseAdagrad,
        iterator_train=RaggedBatches,
        iterator_valid=RaggedBatches,
        iterator_valid__batch_size=PREDICT_ROWS,
        iterator_valid__most_values=PREDICT_VALUES,
        train_split=None,
        verbose=0,
        device=device,
    )


def net_from_state(values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]) -> RaggedNet:
    """Make a trained net again.

    Parameters
    ----------
    values, arrays
        What :meth:`RaggedNet.to_state` gave.
    history : list of dict
        Measures an epoch.

    Returns
    -------
    RaggedNet
        The net; on the CPU if it was trained on CUDA and there is none.
    """
    with plain_torch():
        net = make_net(values["architecture"], "cpu")
        with torch_seed(0):  # what is drawn is overwritten; the user's generator stays where it is
            net.initialize()
        net.module_.load_arrays(arrays)
        if values["device"] == "cuda" and torch.cuda.is_available():
            net.set_params(device="cuda")
            net.module_.to("cuda")
    net.history = History({"batches": []} | entry for entry in history)
    return net
