"""SparseNet: the skorch net of HashEmbeddingClassifier."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import torch
from joblib import cpu_count
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp._idf import mean_idf, smoothed_idf
from sklearn_hashnlp._threads import map_in_order
from sklearn_hashnlp.classifiers._calibration import Calibration
from sklearn_hashnlp.classifiers._losses import Loss, SoftmaxLoss, TreeLoss, make_loss
from sklearn_hashnlp.classifiers._net import PREDICT_ROWS, ClassifierNet
from sklearn_hashnlp.classifiers._training_summary import TrainingSummary
from sklearn_hashnlp.classifiers.hash_embedding._compiled_step import (
    CompiledStep,
    supports_compiled_step,
)
from sklearn_hashnlp.classifiers.hash_embedding._dual_fit import NEW_STEP
from sklearn_hashnlp.classifiers.hash_embedding._embedding_tables import EmbeddingTables
from sklearn_hashnlp.classifiers.hash_embedding._known_columns import (
    DocumentFrequencies,
    known_table_rows,
    summarize,
)
from sklearn_hashnlp.classifiers.hash_embedding._model import (
    DIVERGENCE,
    HashEmbeddingModel,
    bag_of,
    base_of,
    embed_rows,
    score_rows,
)
from sklearn_hashnlp.classifiers.hash_embedding._sparse_batches import (
    SparseBatch,
    SparseBatches,
    SparseDataset,
)
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows
from sklearn_hashnlp.kernels.embeddings._hash_ids import count_rows
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel
from sklearn_hashnlp.nn._hash_embedding import HashEmbeddingBag
from sklearn_hashnlp.nn._hash_embedding_network import HashEmbeddingNetwork, TreeHead
from sklearn_hashnlp.optim._rowwise_optimizer import RowwiseOptimizer
from sklearn_hashnlp.training._loop import EpochHistory, Steps
from sklearn_hashnlp.training._optimizers import read_state
from sklearn_hashnlp.training._settings import TrainingSettings
from sklearn_hashnlp.training._torch_scope import one_torch_thread, plain_torch, torch_seed
from sklearn_hashnlp.trees import SoftmaxTree

# limits batches of long rows: about 40 MB of component vectors at the default sizes
PREDICT_VALUES = 2**18
_MAX_FREQUENCY = np.iinfo(np.int32).max
_TIE_TOLERANCE = 1e-6  # relative: log-probabilities may be equal in float32


class SparseNet(ClassifierNet):
    """A skorch classifier of encoded labels with batches of :class:`SparseBatch`."""

    has_sparse_gradients = True
    # Document frequencies of the importance rows: merging models adds them up.
    document_frequencies: NDArray[np.int32] | None = None
    # Table rows of the columns of the rows that were known before training on them.
    known_before: NDArray[np.int32] | None = None
    has_idf = False  # whether importance weights begin as inverse document frequencies
    divergence: ClassVar[str] = DIVERGENCE
    has_lengths: ClassVar[bool] = True

    def table_groups(self, learning_rate: float, eps: float) -> list[dict[str, Any]]:
        """Return the tables' parameter groups; hashes share a step unless the pool is random."""
        bag = self.module_.bag
        n_hashes = bag.spec.slots_per_id
        if n_hashes == 1 or self.architecture().get("pool_std"):
            return super().table_groups(learning_rate, eps)
        importance = {"params": [bag.importance], "eps": eps / n_hashes}
        return [importance, {"params": [bag.pool], "lr": learning_rate / n_hashes}]

    def prepare_tables(
        self,
        rows: SparseRows,
        tables: EmbeddingTables,
        calibration: Calibration,
        divisor: float | None,
        *,
        starts: bool,
    ) -> float | None:
        """Initialize the importance of new columns, and freeze tables that are not trained.

        Return the divisor of the inverse document frequencies. The calibration counts all rows
        that have been seen, these included.
        """
        bag = self.module_.bag
        self.known_before = None
        if calibration.summary is not None:  # it will be continued
            self.known_before = known_table_rows(self.host_bag(), rows)
        self.has_idf = tables.importance_init == "idf" and bag.importance is not None
        if self.has_idf:
            if starts:
                self.document_frequencies = np.zeros(bag.num_embeddings, dtype=np.int32)
            divisor = initialize_importance(
                bag, rows.indices, calibration.n_rows, divisor, self.document_frequencies
            )
        bag.pool.requires_grad_(bool(tables.train_pool))
        if bag.importance is not None:
            bag.importance.requires_grad_(bool(tables.train_importance))
        return divisor

    def damped(self, loss: Loss, settings: TrainingSettings, shares: NDArray[np.float64]) -> float:
        """Start at class shares; return AdaGrad's eps that makes the first steps Newton steps."""
        head = self.module_.head
        is_tree = isinstance(head, TreeHead)
        weight = (head.softmax if is_tree else head[0]).weight.detach()
        if not is_tree:
            head[0].bias.data.copy_(torch.from_numpy(loss.best_constant(shares)))
        square = float(weight.square().sum()) / len(weight)  # of a class, on average
        return float(
            settings.learning_rate * square * loss.curvature / (NEW_STEP * settings.batch_size)
        )

    def tables(self) -> dict[str, float]:
        """Return the names of the bag's tables and the initial values of their rows."""
        tables: dict[str, float] = self.module_.tables
        return tables

    def get_dataset(self, X: Any, y: Any = None) -> Any:
        """Convert rows to a dataset of skorch."""
        is_rows = isinstance(X, SparseRows) and not isinstance(X, SparseDataset)
        return SparseDataset.of(X) if is_rows else super().get_dataset(X, y)

    def infer(self, x: SparseBatch) -> Tensor:
        """Compute the outputs of one batch, which the loss is computed from."""
        x = x.to(self.device)
        ids = x.ids.to(torch.uint32) if x.ids.is_cuda else x.ids  # skips a check on the device
        outputs: Tensor = self.module_(ids, x.offsets, x.weights)
        return outputs

    def linear_arrays(self) -> LinearModel:
        """Return the arrays of a linear net; on the CPU they share memory with it."""
        layer = self.module_.head[0]
        weight, bias = (one.detach().cpu().numpy() for one in (layer.weight, layer.bias))
        return self.host_bag()._replace(weight=weight, bias=bias)

    def add_to_pool(self, rows: NDArray[np.int64], values: NDArray[np.float32]) -> None:
        """Add to rows of the pool."""
        pool = self.module_.bag.pool.detach()
        pool[torch.from_numpy(rows).to(pool.device)] += torch.from_numpy(values).to(pool.device)

    def score_rows(
        self, rows: SparseRows, vectors: NDArray[np.float32] | None = None
    ) -> NDArray[np.float64]:
        """Compute the scores of all rows, from their vectors if they are known."""
        model = self.module_.linear_model()
        if model is not None:
            return score_rows(model, rows).scores
        head = self.module_.head.in_double()
        with torch.inference_mode():
            scores = [
                head.scores(block).float().cpu().numpy() for block in self._blocks(rows, vectors)
            ]
        return np.concatenate(scores).astype(np.float64)

    def host_bag(self) -> LinearModel:
        """Return the tables, which share memory with the module if it is on the CPU."""
        bag = self.module_.bag
        importance = None if bag.importance is None else bag.importance.detach().cpu().numpy()
        return bag_of(bag.spec, bag.pool.detach().cpu().numpy(), importance)

    def scores_and_lengths(
        self,
        rows: SparseRows,
        calibration: Calibration,
        *,
        unseen: bool = False,
        bag: LinearModel | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute the scores and lengths of rows; ``unseen`` takes untrained columns as unknown."""
        with self._unknown_if_untrained(rows) if unseen else nullcontext():
            bag = self.host_bag() if bag is None else bag
            tables, linear = (
                bag._replace(base=base_of(bag, calibration)),
                self.module_.linear_model(),
            )
            if linear is not None:
                scored = score_rows(linear._replace(base=tables.base), rows)
                return scored.scores, scored.lengths
            vectors, lengths = self.embedded(rows, tables)
            return self.score_rows(rows, vectors), lengths

    def summary(
        self,
        rows: SparseRows,
        left_out: SparseRows,
        probabilities: NDArray[np.float64],
        calibration: Calibration,
        *,
        in_training: bool,
    ) -> TrainingSummary | None:
        """Summarize left-out rows with their probabilities."""
        bag = self.host_bag()
        tables = bag._replace(base=base_of(bag, calibration))
        if self.known_before is None:
            architecture, of_rows = self.architecture(), self.document_frequencies
            frequencies = DocumentFrequencies.of(architecture, tables, rows, of_rows)
        else:
            frequencies = DocumentFrequencies.continued(
                tables, rows, self.known_before, n_rows=calibration.n_rows, are_weights=self.has_idf
            )
        return summarize(
            tables,
            frequencies,
            left_out,
            probabilities,
            in_training=in_training,
            earlier=calibration.summary,
        )

    @contextmanager
    def _unknown_if_untrained(self, rows: SparseRows) -> Iterator[None]:
        """Set the importance weights of untrained columns to the value for unknown columns."""
        bag = self.module_.bag
        trained = None if bag.importance is None else self.optimizer_.state[bag.importance]
        if not trained:
            yield
            return
        table = bag.importance.detach()
        features = torch.from_numpy(count_rows(rows.indices, bag._constants[0], len(table))[0]).to(
            table.device
        )
        touched = trained[cast(RowwiseOptimizer, self.optimizer_).touched_key]
        new = features[
            ~touched[features].bool().view(len(features), touched[:1].numel()).any(dim=1)
        ]
        importance = table[new]  # their inverse document frequencies
        table[new] = self.tables()["bag.importance"]
        try:
            yield
        finally:
            table[new] = importance

    def topk(
        self, rows: SparseRows, k: int, vectors: NDArray[np.float32] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Search the tree for each row's k most probable classes, without scoring every class."""
        head = self.module_.head.in_double()
        log_probs, classes = [], []
        with torch.inference_mode():
            for block in self._blocks(rows, vectors):
                hidden = head(block)
                best, indices = (
                    tensor.cpu().numpy() for tensor in head.softmax.topk_with_bound(hidden, k)
                )
                # Ties in float32 are broken by the order of classes, as by argsort over all scores.
                close = _are_close(best)
                # They are close to the bound, but perhaps not to the next class.
                if close.any() and k < head.softmax.n_classes:
                    best[close] = head.softmax.topk(
                        hidden[torch.from_numpy(close).to(hidden.device)], k + 1
                    )[0].cpu()
                    close = _are_close(best)
                best, indices = best[:, :k].astype(np.float32), indices.copy()
                if close.any():
                    scores = head.softmax.log_prob(
                        hidden[torch.from_numpy(close).to(hidden.device)]
                    )
                    scores = scores.float().cpu().numpy()
                    indices[close] = np.argsort(-scores, axis=1, kind="stable")[:, :k]
                    best[close] = np.take_along_axis(scores, indices[close], axis=1)
                log_probs.append(best)
                classes.append(indices)
        return np.concatenate(log_probs).astype(np.float64), np.concatenate(classes)

    def document_vectors(self, rows: SparseRows) -> NDArray[np.float32]:
        """Compute the vectors that the head reads, shape (n_rows, output_dim)."""
        vectors = torch.cat(list(self._blocks(rows)))
        return np.asarray(vectors.float().cpu().numpy())

    def embedded(
        self, rows: SparseRows, tables: LinearModel
    ) -> tuple[NDArray[np.float32] | None, NDArray[np.float64]]:
        """Return the vectors (None if torch must compute them) and lengths of rows, on the CPU."""
        model = self.module_.bag_model()
        if model is None:
            return None, score_rows(tables, rows).lengths
        return embed_rows(model._replace(base=tables.base), rows)

    def _blocks(
        self, rows: SparseRows, vectors: NDArray[np.float32] | None = None
    ) -> Iterator[Tensor]:
        """Yield blocks of the vectors that the head reads."""
        model = self.module_.bag_model() if vectors is None else None
        if model is not None:
            vectors, _ = embed_rows(model, rows)
        if vectors is not None:
            yield from torch.split(torch.from_numpy(vectors).double(), PREDICT_ROWS)
            return
        rows = SparseDataset.of(rows)
        documents: list[Tensor] = []
        n_documents = 0
        # Without rows there is one empty part.
        parts = SparseBatches(rows, PREDICT_ROWS, max_values=PREDICT_VALUES).parts() or [slice(0)]
        n_threads = cpu_count() if self.device_type == "cpu" else 1
        for some in map_in_order(partial(self._embed, rows), parts, n_threads):
            documents.append(some)
            n_documents += len(some)
            if n_documents % PREDICT_ROWS == 0 or n_documents == len(rows):
                yield torch.cat(documents).double()
                documents = []

    def _embed(self, rows: SparseDataset, part: slice) -> Tensor:
        batch = rows.take(part)[0].to(self.device)
        with one_torch_thread(), torch.inference_mode():  # torch's modes hold for one thread
            vectors: Tensor = self.module_.bag(batch.ids, batch.offsets, batch.weights)
        return vectors

    def to_model(self, calibration: Calibration) -> HashEmbeddingModel:
        """Return the learned model, on the CPU with arrays shared with module and optimizer."""
        loss, module = self.criterion_, self.module_
        state = {
            name: tensor
            for name, tensor in module.state_dict().items()
            if not name.endswith("_extra_state")
        }
        optimizer = read_state(module, self.optimizer_)
        if not self.has_training_state:
            optimizer.learning_rates = None
        if loss.layer is not None:
            loss = make_loss(
                loss.name, multilabel=loss.multilabel, inverse_temperature=loss.inverse_temperature
            )
        return HashEmbeddingModel(
            self.architecture(),
            {name: tensor.detach().cpu().numpy() for name, tensor in state.items()},
            loss,
            calibration,
            tree=self.get_params_for("module")["tree"],
            device=self.device_type,
            rows_per_step=self.rows_per_step,
            optimizer=optimizer if optimizer.parameters or self.has_training_state else None,
            frequencies=self.document_frequencies,
        )

    def training_steps(self, batches: Any) -> Steps:
        """Return each batch with its training function, compiled if the net supports it."""
        if (
            type(self.criterion_) is SoftmaxLoss  # a subclass has another formula
            and not self.hooks("on_grad_computed")
            and supports_compiled_step(self.module_, self.optimizer_)
        ):
            self._set_training(True)
            return CompiledStep(self.module_, self.optimizer_, self.step_scale).steps(batches)
        return super().training_steps(batches)


def initialize_importance(
    bag: HashEmbeddingBag,
    columns: NDArray[Any],
    n_rows: int,
    divisor: float | None = None,
    frequencies: NDArray[np.int32] | None = None,
) -> float:
    """Set importance rows that are still zero to inverse document frequencies; return the divisor.

    The frequencies are added to document frequencies, (num_embeddings,).
    """
    assert bag.importance is not None
    rows, counts = count_rows(columns, bag.spec.constants[0], bag.spec.num_embeddings)
    if frequencies is not None:
        frequencies[rows] = np.minimum(frequencies[rows] + counts.astype(np.int64), _MAX_FREQUENCY)
    weights = smoothed_idf(counts, n_rows)
    table = bag.importance.detach()
    indices = torch.from_numpy(rows).to(table.device)
    if divisor is None:
        divisor = mean_idf(weights)
    else:
        untouched = ~table[indices].any(dim=1)
        indices, weights = indices[untouched], weights[untouched.cpu().numpy()]
    initial = torch.from_numpy((weights / divisor).astype(np.float32))
    table[indices] = initial.unsqueeze(1).to(table.device, table.dtype)
    return divisor


def _are_close(log_probs: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of rows with two log-probabilities that may be equal in float32."""
    return np.asarray(~(np.diff(log_probs, axis=1) < _TIE_TOLERANCE * log_probs[:, 1:]).all(axis=1))


def make_net(
    architecture: dict[str, Any], device: str, tree: SoftmaxTree | None = None
) -> SparseNet:
    """Build a net that is not initialized yet."""
    return SparseNet.untrained(
        HashEmbeddingNetwork,
        architecture,
        batches=SparseBatches,
        device=device,
        module__tree=tree,
        iterator_valid__max_values=PREDICT_VALUES,
    )


def net_of_model(model: HashEmbeddingModel, history: list[dict[str, Any]]) -> SparseNet:
    """Build a net that shares the memory of a model, to continue its training."""
    net = make_net(model.architecture, "cpu", model.tree)
    with plain_torch():
        with torch_seed(0):  # the weights are overwritten; the user's generator does not advance
            net.initialize()
        tensors = {**dict(net.module_.named_parameters()), **dict(net.module_.named_buffers())}
        for name, array in model.weights.items():
            tensors[name].data = torch.from_numpy(array)
        if model.device == "cuda" and torch.cuda.is_available():
            net.set_params(device="cuda")
            net.module_.to("cuda")
        net.module_.eval()
        loss = model.loss
        is_tree = loss.name == TreeLoss.name
        net.criterion_ = (
            make_loss(loss.name, net.module_.head, multilabel=loss.multilabel) if is_tree else loss
        )
        net.rows_per_step, net.document_frequencies = model.rows_per_step, model.frequencies
        if model.optimizer is not None:
            net.restore_optimizer(model.optimizer)
            net.was_trained, net.has_only_step_sizes = (
                model.has_training_state,
                not model.has_training_state,
            )
    net.history = EpochHistory({"batches": []} | entry for entry in history)
    return net
