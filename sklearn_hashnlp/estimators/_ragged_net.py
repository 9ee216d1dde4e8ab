"""The skorch net inside HashEmbeddingClassifier."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from joblib import cpu_count
from numpy.typing import NDArray
from skorch import NeuralNetClassifier
from skorch.callbacks import EpochTimer, PassthroughScoring, PrintLog
from skorch.history import History
from skorch.utils import TeeGenerator
from torch import Tensor, nn

from sklearn_hashnlp.estimators._batches import RaggedBatches, RaggedRows
from sklearn_hashnlp.estimators._compiled_training import CompiledTraining, trains_compiled
from sklearn_hashnlp.estimators._hash_embedding_net import BagOfHashEmbeddings
from sklearn_hashnlp.estimators._in_threads import in_threads
from sklearn_hashnlp.estimators._lean_net import LeanNet
from sklearn_hashnlp.estimators._net_optimizer import pack_optimizer, unpack_optimizer
from sklearn_hashnlp.estimators._ragged_batch import RaggedBatch
from sklearn_hashnlp.estimators._row_losses import SoftmaxLoss
from sklearn_hashnlp.estimators._training import one_torch_thread, plain_torch, torch_seed
from sklearn_hashnlp.nn import RowwiseAdagrad

PREDICT_ROWS = 1024
PREDICT_VALUES = 2**18  # long rows: some 40 MB of component vectors at the default sizes
_DIVERGED = (
    "The training diverged: the loss or a score is infinite or not a number. Set a smaller learning_rate; and with "
    "normalize=None scale X down, or set normalize='l2'."
)


class RaggedNet(LeanNet, NeuralNetClassifier):  # type: ignore[misc]
    """A skorch classifier of class numbers whose batches are :class:`RaggedBatch`.

    Its criterion gives one loss a row, of which the mean is taken, weighted where the rows are. Its history holds the
    validation accuracy.

    Attributes
    ----------
    multilabel : bool
        Whether a row may have several classes: :meth:`predict` then tells those with a probability above a half.
    """

    multilabel = False
    measures: ClassVar[tuple[str, ...]] = ("loss", "acc")
    last_measure: ClassVar[str] = "valid_acc"
    divergence: ClassVar[str] = _DIVERGED

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

    def steps(
        self, iterator: Any, training: bool, step_fn: Callable[[Any], dict[str, Any]]
    ) -> Iterable[tuple[Any, Callable[[], dict[str, Any]]]]:
        """Give each batch together with what is to be done with it.

        Parameters
        ----------
        iterator : RaggedBatches
            The batches.
        training : bool
            Whether to learn from them, through kernels alone where they do.
        step_fn : callable
            Takes a step with a batch.

        Returns
        -------
        iterable of (batch, callable)
            Each batch, and what takes its step.
        """
        if training and self._trains_compiled():
            self._set_training(True)
            return CompiledTraining(self.module_, self.optimizer_).steps(iterator)
        return super().steps(iterator, training, step_fn)

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
        for hook in self.hooks("on_grad_computed"):
            parameters = TeeGenerator(self.get_all_learnable_params())
            hook(self, named_parameters=parameters, batch=batch, training=True)
        self.optimizer_.step()
        return {"loss": loss, "y_pred": scores}

    def _trains_compiled(self) -> bool:
        return (
            type(self.criterion_) is SoftmaxLoss
            and not self.hooks("on_grad_computed")
            and trains_compiled(self.module_, self.optimizer_)
        )

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
