"""The skorch net inside HashEmbeddingClassifier."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch import NeuralNetClassifier
from skorch.callbacks import EpochTimer, PassthroughScoring, PrintLog
from skorch.history import History
from torch import Tensor, nn

from sklearn_hashnlp.estimators._batches import RaggedBatch, RaggedBatches, RaggedRows
from sklearn_hashnlp.estimators._hash_embedding_net import BagOfHashEmbeddings
from sklearn_hashnlp.estimators._training import plain_torch, torch_seed
from sklearn_hashnlp.nn import RowwiseAdagrad

PREDICT_ROWS = 1024
PREDICT_VALUES = 2**18  # long rows: some 40 MB of component vectors at the default sizes
_DIVERGED = (
    "The training diverged: the loss or a score is infinite or not a number. Set a smaller learning_rate; and with "
    "normalize=None scale X down, or set normalize='l2'."
)


class RaggedNet(NeuralNetClassifier):  # type: ignore[misc]
    """A skorch classifier of class numbers whose batches are :class:`RaggedBatch`.

    Its history holds the validation accuracy. A callback that ends training, by raising ``KeyboardInterrupt`` at the
    end of an epoch as skorch's do, does so after all the others have had their turn.

    Attributes
    ----------
    interrupted_ : bool
        Whether training was ended by something else than such a callback: by the user.
    """

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
        with torch.inference_mode():
            for batch, _ in RaggedBatches(rows, PREDICT_ROWS, most_values=PREDICT_VALUES):
                batch = batch.to(self.device)
                documents.append(self.module_.bag(batch.ids, batch.offsets, batch.weights))
                n_documents += len(batch)
                if n_documents % PREDICT_ROWS == 0 or n_documents == len(rows):
                    block, documents = torch.cat(documents), []
                    scores.append(head(block.double()).float().cpu().numpy())
        return np.concatenate(scores).astype(np.float64)

    def train_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Learn from one batch.

        Parameters
        ----------
        batch : (RaggedBatch, Tensor)
            Documents and class numbers.
        **fit_params : dict
            Handed on to skorch.

        Returns
        -------
        dict
            As skorch's.

        Raises
        ------
        ValueError
            If the loss is infinite or not a number: nothing can be learned from there on.
        """
        step: dict[str, Any] = super().train_step(batch, **fit_params)
        if not torch.isfinite(step["loss"]):
            raise ValueError(_DIVERGED)
        return step

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
            Documents and class numbers.
        **fit_params : dict
            Handed on to skorch.

        Returns
        -------
        dict
            As skorch's.
        """
        step: dict[str, Any] = super().validation_step(batch, **fit_params)
        right = step["y_pred"].argmax(dim=1) == batch[1].to(step["y_pred"].device)
        self.history.record_batch("valid_acc", right.double().mean().item())
        return step


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
        criterion=nn.CrossEntropyLoss,
        optimizer=RowwiseAdagrad,
        optimizer__eps=1e-4,  # damps the first steps of rare n-grams, whose gradients are small
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
