"""Outputs of more classes in a HashEmbeddingModel, in dimensions of their own where it has some."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.classifiers._more_classes import MoreClasses
from sklearn_hashnlp.classifiers.hash_embedding._auto_parameters import resolve_embedding_dim
from sklearn_hashnlp.classifiers.hash_embedding._model import POOL, HashEmbeddingModel
from sklearn_hashnlp.kernels.embeddings._tables import TableSpec, lazy_table
from sklearn_hashnlp.training._optimizer_state import OptimizerState
from sklearn_hashnlp.trees import SoftmaxTree

_SMALL = 0.05  # of the root mean square of the pool: rounding of a saved model, not embeddings
_BLOCK = 2**16  # rows
_LAYER = ("weight", "bias")


def with_classes(
    model: HashEmbeddingModel, more: MoreClasses, bias: NDArray[np.float64]
) -> HashEmbeddingModel:
    """Return a model of more classes with the scores of the known ones unchanged.

    The scores of the new classes are ``bias``, of a tree that of its new root.
    """
    outputs, tree = more, model.tree
    if tree is not None:
        outputs, tree = _outputs_of_tree(tree, more), _with_leaves(tree, more)
        bias = np.append(bias, np.zeros(outputs.is_new.sum() - 1))
    free, added = _free_directions(model, int(outputs.is_new.sum()))
    spec = replace(model.spec, embedding_dim=model.spec.embedding_dim + added)
    weights, names = dict(model.weights), [f"{model.last_layer_name}.{key}" for key in _LAYER]
    optimizer = model.optimizer
    if added:
        weights[names[0]] = _widened(weights[names[0]], model.spec, added)
        weights[POOL] = _widened_table(weights[POOL], added)
        optimizer = None if optimizer is None else _widened_state(optimizer, names[0], model, added)
    new_rows = _new_rows(free, spec, weights[names[0]], int(outputs.is_new.sum()))
    weights[names[0]] = outputs.rows(weights[names[0]], new_rows)
    weights[names[1]] = outputs.rows(weights[names[1]], bias)
    if optimizer is not None:
        optimizer = outputs.optimizer(optimizer, dict.fromkeys(names, len(model.last_layer[1])))
    changed = {"num_classes": len(more.previous), "embedding_dim": spec.embedding_dim}
    return replace(
        model,
        architecture=model.architecture | changed,
        weights=weights,
        tree=tree,
        optimizer=optimizer,
        calibration=more.calibration(model.calibration),
    )


def _with_leaves(tree: SoftmaxTree, more: MoreClasses) -> SoftmaxTree:
    """Return a tree with a new root, above the previous one and the new classes."""
    new, known = np.flatnonzero(more.is_new), np.flatnonzero(~more.is_new)
    place_of = known[np.argsort(more.previous[known])]
    is_leaf = tree.children < 0
    below = np.where(is_leaf, ~place_of[np.where(is_leaf, ~tree.children, 0)], tree.children + 1)
    if len(new) == 1:
        children, sizes = [1, ~new[0], *below], [2, *tree.arities]
    else:
        children, sizes = [1, tree.n_nodes + 1, *below, *~new], [2, *tree.arities, len(new)]
    return SoftmaxTree(children, np.append(0, np.cumsum(sizes)))


def _outputs_of_tree(tree: SoftmaxTree, more: MoreClasses) -> MoreClasses:
    """Return the scores of the tree's nodes: of the root, the previous ones, the new classes."""
    n_new = int(more.is_new.sum())
    n_below = 0 if n_new == 1 else 1 if n_new == 2 else n_new
    return MoreClasses(np.concatenate([[-1], np.arange(tree.n_scores), np.full(n_below, -1)]))


def _free_directions(
    model: HashEmbeddingModel, n_new: int
) -> tuple[NDArray[np.float64], int]:  # (n_free, embedding_dim + added)
    """Return directions that neither outputs nor embeddings have, and how many dimensions to add.

    A new class that is a direction of its own changes no score of the known ones.
    """
    spec, hidden = model.spec, model.architecture["hidden_sizes"]
    if hidden:
        return np.empty((0, spec.embedding_dim)), 0
    parts = model.last_layer[0][:, : spec.vector_dim].astype(np.float64)
    parts = parts.reshape(-1, spec.embedding_dim)
    _, lengths, directions = np.linalg.svd(parts)
    free = directions[np.count_nonzero(lengths > lengths[0] * np.finfo(np.float32).eps) :]
    free = free[~_used(model.weights[POOL], free)]
    wanted = resolve_embedding_dim("auto", n_new) if len(free) < n_new else 0
    added = 0 if model.architecture.get("pool_std") else max(0, wanted - len(free))
    added = -(-added // 4) * 4
    own = np.eye(added, spec.embedding_dim + added, spec.embedding_dim)
    return np.concatenate([np.pad(free, ((0, 0), (0, added))), own]), added


def _used(pool: NDArray[np.float32], directions: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return along which directions the rows of a pool differ from zero, but for rounding."""
    along, total = np.zeros(len(directions)), 0.0
    for start in range(0, len(pool), _BLOCK):
        rows = pool[start : start + _BLOCK]
        rows = rows[rows.any(axis=1)].astype(np.float64)
        along += np.square(rows @ directions.T).sum(axis=0)
        total += np.square(rows).sum()
    return np.asarray(along > _SMALL**2 * total / pool.shape[1])


def _new_rows(
    free: NDArray[np.float64], spec: TableSpec, weight: NDArray[np.float32], n_new: int
) -> NDArray[np.float64]:  # (n_new, width)
    """Return rows of the last layer for new outputs, as long as the known ones or zeros."""
    rows = np.zeros((n_new, weight.shape[1]))
    if not len(free):
        return rows
    factors = np.eye(n_new, len(free))
    # Many share some directions, as the outputs of a new model of many classes do.
    if resolve_embedding_dim("auto", n_new) <= len(free) < n_new:
        factors = np.random.default_rng(spec.seed).normal(size=factors.shape)
        factors /= np.linalg.norm(factors, axis=1, keepdims=True)
    length = np.sqrt(np.square(weight, dtype=np.float64).sum() / len(weight))
    n_parts = spec.vector_dim // spec.embedding_dim
    rows[:, : spec.vector_dim] = np.tile(factors @ free, n_parts) * (length / np.sqrt(n_parts))
    return rows


def _widened(matrix: NDArray[np.float32], spec: TableSpec, added: int) -> NDArray[np.float32]:
    """Return a matrix over document vectors with zeros for more dimensions of the embeddings."""
    shape = (len(matrix), -1, spec.embedding_dim)
    parts = np.pad(matrix[:, : spec.vector_dim].reshape(shape), ((0, 0), (0, 0), (0, added)))
    return np.concatenate([parts.reshape(len(matrix), -1), matrix[:, spec.vector_dim :]], axis=1)


def _widened_table(table: NDArray[np.float32], added: int) -> NDArray[np.float32]:
    """Return a table with columns of zeros added, of which only the used rows take memory."""
    wide = lazy_table((len(table), table.shape[1] + added))
    for start in range(0, len(table), _BLOCK):
        rows = start + np.flatnonzero(table[start : start + _BLOCK].any(axis=1))
        wide[rows, : table.shape[1]] = table[rows]
    return wide


def _widened_state(
    known: OptimizerState, layer: str, model: HashEmbeddingModel, added: int
) -> OptimizerState:
    """Return the state of the optimizer for wider embeddings."""
    parameters: dict[str, dict[str, Any]] = {name: dict(s) for name, s in known.parameters.items()}
    for name, shape in ((POOL, model.weights[POOL].shape), (layer, model.last_layer[0].shape)):
        for key, value in parameters.get(name, {}).items():
            if np.shape(value) == shape:
                parameters[name][key] = (
                    _widened_table(value, added)
                    if name == POOL
                    else _widened(value, model.spec, added)
                )
    return replace(known, parameters=parameters)
