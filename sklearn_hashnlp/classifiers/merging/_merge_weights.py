"""The weights, the state of the optimizer and the document frequencies of merged classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._idf import smoothed_idf
from sklearn_hashnlp.classifiers._calibration import Calibration, common_columns
from sklearn_hashnlp.classifiers.hash_embedding._model import (
    IMPORTANCE,
    POOL,
    STATISTICS,
    HashEmbeddingModel,
)

_BLOCK = 2**16  # rows
_MAX_FREQUENCY = np.iinfo(np.int32).max


def merge_models(
    result: HashEmbeddingModel,
    models: Sequence[HashEmbeddingModel],
    factors: NDArray[np.float64],
    divisors: list[float],
) -> float | None:
    """Write the mean of models into a copy of the first one, and return the merged idf divisor.

    ``divisors`` divide the models' inverse document frequencies.
    """
    n_rows = factors * np.array([model.calibration.n_rows for model in models], dtype=np.float64)
    idf_scales = _merge_document_frequencies(result, models, factors, n_rows, divisors)
    assert result.optimizer is not None
    for name, merged in result.weights.items():
        if name.endswith(STATISTICS):
            continue
        sources = [_Source.of(model, name) for model in models]
        sums = _merge_sums(result.optimizer.parameters.setdefault(name, {}), sources, factors)
        if name not in (POOL, IMPORTANCE) and (sums is None or sums.shape == merged.shape):
            merged[...] = np.average(
                _stacked([source.values for source in sources]), axis=0, weights=n_rows
            )
            continue
        scales = idf_scales if name == IMPORTANCE else None
        if scales is None:  # else they hold inverse document frequencies
            _check_untrained(name, sources)
        _merge_rows(merged, sources, factors, scales)
    _merge_normalization(result, models, factors, n_rows / n_rows.sum())
    parts = [model.calibration for model in models]
    result.calibration = Calibration(
        np.sum(
            [factor * one.class_counts for factor, one in zip(factors, parts, strict=True)], axis=0
        ),
        max(1, round(float(n_rows.sum()))),
        _mean([one.half for one in parts], n_rows),
        *common_columns(parts),
        counts_before=_merge_counts_before(parts, factors),
    )
    temperatures = [float(model.loss.inverse_temperature) for model in models]
    if len(set(temperatures)) > 1:
        result.loss.inverse_temperature = float(
            np.exp(np.average(np.log(temperatures), weights=n_rows))
        )
    return None if idf_scales is None else idf_scales.merged.divisor


def _merge_counts_before(
    parts: Sequence[Calibration], factors: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Add the weights of the rows before labels were added; None if none was added."""
    counts = [
        factor * one.counts_before
        for factor, one in zip(factors, parts, strict=True)
        if one.counts_before is not None
    ]
    return np.sum(counts, axis=0) if counts else None


def _mean(numbers: list[float], weights: NDArray[np.float64]) -> float:
    """Return the weighted mean, without rounding if all numbers are equal."""
    return numbers[0] if len(set(numbers)) == 1 else float(np.average(numbers, weights=weights))


class _Source(NamedTuple):
    """A parameter of one model and the squares of gradients that AdaGrad has accumulated for it."""

    values: NDArray[Any]
    sums: NDArray[Any] | None  # None if it was never trained

    @classmethod
    def of(cls, model: HashEmbeddingModel, name: str) -> Self:
        """Return a parameter by its name in the network."""
        assert model.optimizer is not None
        return cls(model.weights[name], model.optimizer.parameters.get(name, {}).get("sum"))

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


class IdfScales(NamedTuple):
    """Factors of importance weights from a model's to the merged inverse document frequencies."""

    parts: list[Frequencies]  # of the models
    merged: Frequencies

    def factors(self, model: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the factors of some rows of a model."""
        return self.merged.initial_weights(rows) / self.parts[model].initial_weights(rows)


def _merge_document_frequencies(
    result: HashEmbeddingModel,
    models: Sequence[HashEmbeddingModel],
    factors: NDArray[np.float64],
    n_rows: NDArray[np.float64],
    divisors: list[float],
) -> IdfScales | None:
    """Add the document frequencies; None if there are none."""
    parts = [model.frequencies for model in models if model.frequencies is not None]
    if len(parts) < len(models):
        return None
    merged = np.zeros(len(parts[0]), dtype=np.int32)
    for start in range(0, len(merged), _BLOCK):
        rows = slice(start, start + _BLOCK)
        total = np.sum(
            [factor * part[rows] for factor, part in zip(factors, parts, strict=True)], axis=0
        )
        occurs = np.flatnonzero(total)
        merged[start + occurs] = np.minimum(np.maximum(np.rint(total[occurs]), 1), _MAX_FREQUENCY)
    known = [
        Frequencies(part, model.calibration.n_rows, divisor)
        for part, model, divisor in zip(parts, models, divisors, strict=True)
    ]
    # The divisor of a stream comes from its first batch: its ratio to the mean of all rows is kept.
    shares = [divisor / _mean_idf(part, n_seen) for part, n_seen, divisor in known]
    n_merged = round(float(n_rows.sum()))
    divisor = _mean_idf(merged, n_merged) * float(np.average(shares, weights=n_rows))
    result.frequencies = merged
    return IdfScales(known, Frequencies(merged, n_merged, divisor))


def _mean_idf(frequencies: NDArray[np.int32], n_rows: int) -> float:
    occurring = frequencies[frequencies > 0]
    return float(smoothed_idf(occurring, n_rows).mean()) if len(occurring) else 1.0


def _merge_sums(
    state: dict[str, Any], sources: Sequence[_Source], factors: NDArray[np.float64]
) -> NDArray[np.float32] | None:
    """Add the accumulated squares, and return them; None if no model has trained the parameter."""
    pairs = zip(sources, factors, strict=True)
    trained = [(source.sums, factor) for source, factor in pairs if source.sums is not None]
    if not trained:
        return None
    shapes = {sums.shape for sums, _ in trained}
    if len(shapes) > 1:
        raise ValueError(
            "merge_classifiers needs models that were all trained by callbacks that read "
            "gradients, or none of them."
        )
    merged: NDArray[np.float32] = state.setdefault("sum", np.zeros(shapes.pop(), dtype=np.float32))
    for start in range(0, len(merged), _BLOCK):
        rows = slice(start, start + _BLOCK)
        block = np.sum([factor * sums[rows].astype(np.float64) for sums, factor in trained], axis=0)
        changed = np.flatnonzero((block != merged[rows]).reshape(len(block), -1).any(axis=1))
        merged[start + changed] = block[changed]
    return merged


def _check_untrained(name: str, sources: Sequence[_Source]) -> None:
    """Check that rows which no model has trained are the same in all of them."""
    for start in range(0, len(sources[0].values), _BLOCK):
        rows = slice(start, start + _BLOCK)
        first, *others = (source.values[rows] for source in sources)
        differs = np.zeros(len(first), dtype=bool)
        for values in others:
            differs |= (values != first).reshape(len(first), -1).any(axis=1)
        if (
            differs.any()
            and (differs & ~np.any([source.squares(rows) for source in sources], axis=0)).any()
        ):
            raise ValueError(
                "merge_classifiers needs the squares of gradients that AdaGrad has accumulated: "
                f"rows of {name} differ between the models, but none of them has trained these "
                "rows since its training state was saved or dropped."
            )


def _merge_rows(
    merged: NDArray[Any],
    sources: Sequence[_Source],
    factors: NDArray[np.float64],
    scales: IdfScales | None,
) -> None:
    """Write the mean of rows, weighted by accumulated squares or else by document frequencies."""
    for start in range(0, len(merged), _BLOCK):
        rows = slice(start, start + _BLOCK)
        weights = np.stack(
            [factor * source.squares(rows) for factor, source in zip(factors, sources, strict=True)]
        )
        if scales is not None:
            frequencies = np.stack(
                [f * part.counts[rows] for f, part in zip(factors, scales.parts, strict=True)]
            )
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
    result: HashEmbeddingModel,
    models: Sequence[HashEmbeddingModel],
    factors: NDArray[np.float64],
    shares: NDArray[np.float64],
) -> None:
    """Merge the running statistics of batch normalization into the statistics of all rows."""
    mean, variance, n_batches = STATISTICS
    for layer in [name.removesuffix(mean) for name in result.weights if name.endswith(mean)]:
        means, variances = (
            _stacked([model.weights[layer + key] for model in models]) for key in (mean, variance)
        )
        merged = np.average(means, axis=0, weights=shares)
        result.weights[layer + mean][:] = merged
        result.weights[layer + variance][:] = np.average(
            variances + (means - merged) ** 2, axis=0, weights=shares
        )
        counts = [
            factor * int(model.weights[layer + n_batches])
            for factor, model in zip(factors, models, strict=True)
        ]
        result.weights[layer + n_batches][...] = round(sum(counts))


def _stacked(arrays: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    return np.stack(arrays).astype(np.float64)
