"""The weights, the state of the optimizer and the document frequencies of merged classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sklearn_hashnlp._idf import smoothed_idf
from sklearn_hashnlp.classifiers._calibration import Calibration
from sklearn_hashnlp.training._estimator import HistoryTable
from sklearn_hashnlp.training._loop import EpochHistory
from sklearn_hashnlp.training._torch_scope import plain_torch

if TYPE_CHECKING:
    from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier

_BLOCK = 2**16  # rows
_MAX_FREQUENCY = np.iinfo(np.int32).max


def merge_nets(
    result: HashEmbeddingClassifier, models: Sequence[HashEmbeddingClassifier], factors: NDArray[np.float64]
) -> None:
    """Write the mean of some models into a copy of the first one."""
    n_rows = factors * np.array([model._calibration.n_rows for model in models], dtype=np.float64)
    with plain_torch():
        idf_scales = _merge_document_frequencies(result, models, factors, n_rows)
        modules = [model.net_.module_ for model in models]
        merged = result.net_.module_
        row_wise = {f"bag.{name}" for name, _ in merged.bag.named_parameters()}
        for name, parameter in merged.named_parameters():
            sources = [_Source.of(model, name) for model in models]
            sums = _merge_sums(result.net_.optimizer_, parameter, sources, factors)
            if name not in row_wise and (sums is None or sums.shape == parameter.shape):
                values = [source.values for source in sources]
                _write(parameter, np.average(_stacked(values), axis=0, weights=n_rows))
                continue
            is_importance = name == "bag.importance"
            scales = idf_scales if is_importance else None
            if scales is None:  # else they hold inverse document frequencies
                _check_untrained(name, sources)
            table = _array(parameter)
            _merge_rows(table, sources, factors, scales)
            _write_back(parameter, table)
        _merge_normalization(merged, modules, factors, n_rows / n_rows.sum())
    parts = [model._calibration for model in models]
    calibration = Calibration(
        np.sum([factor * one.class_counts for factor, one in zip(factors, parts, strict=True)], axis=0),
        max(1, round(float(n_rows.sum()))),
        _mean([one.half for one in parts], n_rows),
        *_common_of_all(parts),
    )
    temperatures = [float(model._loss.inverse_temperature) for model in models]
    if len(set(temperatures)) > 1:
        result.net_.criterion_.inverse_temperature = float(np.exp(np.average(np.log(temperatures), weights=n_rows)))
    result._model = result.net_.to_model(calibration)
    history = [entry for model in models for entry in model.history_]
    result.history_ = HistoryTable(entry | {"epoch": epoch} for epoch, entry in enumerate(history, start=1))
    result.net_.history = EpochHistory({"batches": []} | entry for entry in result.history_)


def _mean(numbers: list[float], weights: NDArray[np.float64]) -> float:
    """Return the weighted mean, without rounding if all numbers are equal."""
    return numbers[0] if len(set(numbers)) == 1 else float(np.average(numbers, weights=weights))


def _common_of_all(parts: Sequence[Calibration]) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Return the columns that the training rows of all models have, and their smallest values."""
    columns, values = parts[0].common_columns, parts[0].common_values
    for part in parts[1:]:
        columns, mine, theirs = np.intersect1d(columns, part.common_columns, return_indices=True)
        values = np.minimum(values[mine], part.common_values[theirs])
    return columns, values


class _Source:
    """A parameter of one model and the squares of gradients that AdaGrad has accumulated for it."""

    def __init__(self, values: NDArray[Any], sums: NDArray[Any] | None) -> None:
        self.values = values
        self.sums = sums  # None if it was never trained

    @classmethod
    def of(cls, model: HashEmbeddingClassifier, name: str) -> _Source:
        """Read a parameter; on a CPU without copying it."""
        parameter = model.net_.module_.get_parameter(name)
        state = model.net_.optimizer_.state.get(parameter, {})
        return cls(_array(parameter), _array(state["sum"]) if "sum" in state else None)

    def squares(self, rows: slice) -> NDArray[np.float64]:  # (n,)
        """Return the accumulated squares of some rows, each the mean over its columns."""
        n_rows = len(self.values[rows])
        if self.sums is None:
            return np.zeros(n_rows)
        return np.asarray(self.sums[rows].reshape(n_rows, -1).mean(axis=1, dtype=np.float64))


class Frequencies(NamedTuple):
    """Document frequencies of the importance rows."""

    counts: NDArray[np.int32]  # (num_embeddings,)
    n_rows: int
    divisor: float

    def initial_weights(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the initial importance weights of some rows."""
        return smoothed_idf(self.counts[rows], self.n_rows) / self.divisor


class IdfScales:
    """Factors of importance weights from a model's inverse document frequencies to the merged ones."""

    def __init__(self, parts: Sequence[Frequencies], merged: Frequencies) -> None:
        self._parts, self._merged = parts, merged

    def frequencies(self, model: int, rows: slice) -> NDArray[np.int32]:
        """Return the document frequencies of some rows in the training rows of a model."""
        return self._parts[model].counts[rows]

    def factors(self, model: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the factors of some rows of a model."""
        return self._merged.initial_weights(rows) / self._parts[model].initial_weights(rows)


def _merge_document_frequencies(
    result: HashEmbeddingClassifier,
    models: Sequence[HashEmbeddingClassifier],
    factors: NDArray[np.float64],
    n_rows: NDArray[np.float64],
) -> IdfScales | None:
    """Add the document frequencies, and set the divisor of their inverses; None if there are none."""
    parts = [part for part in (model.net_.document_frequencies for model in models) if part is not None]
    if result._tables().importance_init != "idf" or len(parts) < len(models):
        return None
    merged = np.zeros(len(parts[0]), dtype=np.int32)
    for start in range(0, len(merged), _BLOCK):
        rows = slice(start, start + _BLOCK)
        total = np.sum([factor * part[rows] for factor, part in zip(factors, parts, strict=True)], axis=0)
        occurs = np.flatnonzero(total)
        merged[start + occurs] = np.minimum(np.maximum(np.rint(total[occurs]), 1), _MAX_FREQUENCY)
    known = [
        Frequencies(part, model._calibration.n_rows, model._idf_divisor or 1.0)
        for part, model in zip(parts, models, strict=True)
    ]
    # The divisor of a stream comes from its first batch: its ratio to the mean of all rows is kept.
    shares = [divisor / _mean_idf(part, n_seen) for part, n_seen, divisor in known]
    n_merged = round(float(n_rows.sum()))
    divisor = _mean_idf(merged, n_merged) * float(np.average(shares, weights=n_rows))
    result.net_.document_frequencies, result._idf_divisor = merged, divisor
    return IdfScales(known, Frequencies(merged, n_merged, divisor))


def _mean_idf(frequencies: NDArray[np.int32], n_rows: int) -> float:
    occurring = frequencies[frequencies > 0]
    return float(smoothed_idf(occurring, n_rows).mean()) if len(occurring) else 1.0


def _merge_sums(
    optimizer: torch.optim.Optimizer, parameter: Tensor, sources: Sequence[_Source], factors: NDArray[np.float64]
) -> Tensor | None:
    """Add the accumulated squares, and return them; None if no model has trained the parameter."""
    pairs = zip(sources, factors, strict=True)
    trained = [(source.sums, factor) for source, factor in pairs if source.sums is not None]
    if not trained:
        return None
    shapes = {sums.shape for sums, _ in trained}
    if len(shapes) > 1:
        raise ValueError(
            "merge_classifiers needs models that were all trained by callbacks that read gradients, or none of them."
        )
    total: Tensor | None = optimizer.state[parameter].get("sum")
    if total is None:  # the first model has not trained it
        total = torch.zeros(shapes.pop(), dtype=parameter.dtype, device=parameter.device)
        optimizer.state[parameter]["sum"] = total
    merged = _array(total)
    for start in range(0, len(merged), _BLOCK):
        rows = slice(start, start + _BLOCK)
        block = np.sum([factor * sums[rows].astype(np.float64) for sums, factor in trained], axis=0)
        changed = np.flatnonzero((block != merged[rows]).reshape(len(block), -1).any(axis=1))
        merged[start + changed] = block[changed]
    _write_back(total, merged)
    return total


def _check_untrained(name: str, sources: Sequence[_Source]) -> None:
    """Check that rows which no model has trained are the same in all of them."""
    for start in range(0, len(sources[0].values), _BLOCK):
        rows = slice(start, start + _BLOCK)
        first, *others = (source.values[rows] for source in sources)
        differs = np.zeros(len(first), dtype=bool)
        for values in others:
            differs |= (values != first).reshape(len(first), -1).any(axis=1)
        if differs.any() and (differs & ~np.any([source.squares(rows) for source in sources], axis=0)).any():
            raise ValueError(
                "merge_classifiers needs the squares of gradients that AdaGrad has accumulated: rows of "
                f"{name} differ between the models, but none of them has trained these rows since its training state "
                "was saved or dropped."
            )


def _merge_rows(
    merged: NDArray[Any], sources: Sequence[_Source], factors: NDArray[np.float64], scales: IdfScales | None
) -> None:
    """Write the mean of rows, weighted by their accumulated squares or, without any, by document frequencies."""
    for start in range(0, len(merged), _BLOCK):
        rows = slice(start, start + _BLOCK)
        weights = np.stack([factor * source.squares(rows) for factor, source in zip(factors, sources, strict=True)])
        if scales is not None:
            frequencies = np.stack([factor * scales.frequencies(i, rows) for i, factor in enumerate(factors)])
            weights = np.where(weights.any(axis=0), weights, frequencies)
        trained = np.flatnonzero(weights.any(axis=0))
        if not len(trained):
            continue
        shares = weights[:, trained]
        total = np.zeros((len(trained), *merged.shape[1:]))
        wide = (len(trained), *(1 for _ in merged.shape[1:]))
        for i, source in enumerate(sources):
            own = source.values[rows][trained].astype(np.float64)
            if scales is not None:
                own *= scales.factors(i, start + trained).reshape(wide)
            total += shares[i].reshape(wide) * own
        merged[start + trained] = total / shares.sum(axis=0).reshape(wide)


def _merge_normalization(
    merged: nn.Module, modules: Sequence[nn.Module], factors: NDArray[np.float64], shares: NDArray[np.float64]
) -> None:
    """Merge the running statistics of batch normalization into the statistics of all rows."""
    for name, layer in merged.named_modules():
        if not isinstance(layer, nn.BatchNorm1d):
            continue
        layers: list[Any] = [module.get_submodule(name) for module in modules]
        means, variances = (
            _stacked([_array(getattr(part, key)) for part in layers]) for key in ("running_mean", "running_var")
        )
        mean = np.average(means, axis=0, weights=shares)
        _write(layer.running_mean, mean)
        _write(layer.running_var, np.average(variances + (means - mean) ** 2, axis=0, weights=shares))
        n_batches = sum(factor * int(part.num_batches_tracked) for factor, part in zip(factors, layers, strict=True))
        _write(layer.num_batches_tracked, np.array(round(n_batches)))


def _stacked(arrays: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    return np.stack(arrays).astype(np.float64)


def _array(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def _write_back(tensor: Tensor, array: NDArray[Any]) -> None:
    """Copy an array of :func:`_array` back to a tensor on another device; on a CPU they share their memory."""
    if tensor.device.type != "cpu":
        _write(tensor, array)


def _write(tensor: Any, values: NDArray[Any]) -> None:
    with torch.no_grad():
        tensor.copy_(torch.from_numpy(values).reshape(tensor.shape))
