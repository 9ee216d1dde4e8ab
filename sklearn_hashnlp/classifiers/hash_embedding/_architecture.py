"""The net of a HashEmbeddingClassifier, built from the estimator's parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._idf import mean_idf, smoothed_idf
from sklearn_hashnlp._sklearn import MAX_INTEGER
from sklearn_hashnlp.classifiers._losses import TreeLoss
from sklearn_hashnlp.classifiers.hash_embedding._auto_parameters import resolve_embedding_dim
from sklearn_hashnlp.classifiers.hash_embedding._embedding_tables import EmbeddingTables
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows
from sklearn_hashnlp.kernels.embeddings._hash_ids import count_rows
from sklearn_hashnlp.training._settings import Seeds
from sklearn_hashnlp.trees._arrays import is_integer
from sklearn_hashnlp.trees._tree_builders import class_tree

if TYPE_CHECKING:  # torch is imported where a net is made
    from sklearn_hashnlp.classifiers.hash_embedding._sparse_net import SparseNet
    from sklearn_hashnlp.nn import HashEmbeddingBag

_MAX_UNHASHED = 2**27  # columns with a row each
_MAX_FREQUENCY = np.iinfo(np.int32).max
_POOL_STD = 0.1  # as in the reference implementation


def bag_architecture(estimator: Any, n_classes: int, hash_seed: int) -> dict[str, Any]:
    """Return the arguments of the net's module."""
    tables = estimator._tables()
    hidden_layers = bool(estimator.hidden_layer_sizes)
    return {
        "hash_rows": bool(tables.hash_rows),
        "num_embeddings": int(estimator.n_embeddings if tables.hash_rows else estimator.n_features_in_),
        "num_buckets": int(estimator.n_buckets),
        "embedding_dim": resolve_embedding_dim(estimator.embedding_dim, n_classes, hidden_layers=hidden_layers),
        "num_hashes": int(estimator.n_hashes),
        "variant": estimator.variant,
        "aggregation": estimator.aggregation,
        "append_weight": bool(tables.append_weight),
        "normalize": estimator.normalize,
        "importance_init": 1.0 if tables.importance_init == "ones" else 0.0,
        "pool_std": _POOL_STD if tables.importance_init == "zeros" and estimator.variant != "standard" else 0.0,
        "hash_seed": hash_seed,
        "hidden_sizes": [int(size) for size in estimator.hidden_layer_sizes],
        "num_classes": n_classes,
    }


def new_net(estimator: Any, n_classes: int, y: Any | None, seeds: Seeds, device: str) -> SparseNet:
    """Build an initialized net; a tree depends on the label frequencies in ``y``, if it is not None."""
    from sklearn_hashnlp.classifiers.hash_embedding._sparse_net import make_net

    tree = None
    if estimator.loss == TreeLoss.name:
        counts = n_classes if y is None else np.unique(y, return_counts=True)[1]
        tree = class_tree(estimator.tree, counts, seed=seeds.module, caller=type(estimator).__name__)
    return make_net(bag_architecture(estimator, n_classes, seeds.hash), device, tree).initialized(seeds.module)


def prepare_tables(
    net: SparseNet, rows: SparseRows, tables: EmbeddingTables, n_rows: int, divisor: float | None, *, starts: bool
) -> float | None:
    """Initialize the importance of new columns, and freeze tables that are not trained.

    Return the divisor of the inverse document frequencies; ``n_rows`` rows have been seen, these included.
    """
    bag = net.module_.bag
    if tables.importance_init == "idf" and bag.importance is not None:
        if starts:
            net.document_frequencies = np.zeros(bag.num_embeddings, dtype=np.int32)
        divisor = initialize_importance(bag, rows.indices, n_rows, divisor, net.document_frequencies)
    bag.pool.requires_grad_(bool(tables.train_pool))
    if bag.importance is not None:
        bag.importance.requires_grad_(bool(tables.train_importance))
    return divisor


def initialize_importance(
    bag: HashEmbeddingBag,
    columns: NDArray[Any],
    n_rows: int,
    divisor: float | None = None,
    frequencies: NDArray[np.int32] | None = None,
) -> float:
    """Set importance rows that are still zero to inverse document frequencies; return their divisor.

    The frequencies are added to document frequencies, (num_embeddings,).
    """
    import torch

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


def check_architecture(estimator: Any) -> None:
    """Check that training can continue with the trained net."""
    net = estimator.net_.architecture()
    loss = estimator.loss_ if estimator.loss == "auto" else estimator.loss
    wanted = bag_architecture(estimator, net["num_classes"], net["hash_seed"]) | {"loss": loss}
    made_with = net | {"loss": estimator.loss_}
    if estimator.embedding_dim == "auto":
        wanted["embedding_dim"] = net["embedding_dim"]
    if estimator.loss == TreeLoss.name:
        wanted["tree"] = estimator.tree
        tree = estimator.net_.get_params_for("module")["tree"]
        made_with["tree"] = tree if estimator._tree_name is None else estimator._tree_name
    estimator._check_unchanged(wanted, made_with)


def check_ngram_dropout(pair: Any, *, caller: str) -> None:
    """Check that the parameter is None or two integers in order."""
    if pair is not None and not (
        len(pair) == 2 and all(map(is_integer, pair)) and 1 <= pair[0] <= pair[1] <= MAX_INTEGER
    ):
        raise ValueError(
            f"The 'ngram_dropout' parameter of {caller} must be None or (fewest, most), two integers with "
            f"1 <= fewest <= most <= {MAX_INTEGER}. Got {pair!r} instead."
        )


def check_columns(estimator: Any) -> None:
    """Check that a row for each column, which is not hashed, is not a table of gigabytes by mistake."""
    if estimator.n_features_in_ > _MAX_UNHASHED:
        raise ValueError(
            f"{type(estimator).__name__}(embedding=EmbeddingTables(hash_rows=False)) has a row for each column, and X "
            f"has {estimator.n_features_in_:,} columns. Count fewer, by n_features of the vectorizer, or set "
            "hash_rows=True."
        )
