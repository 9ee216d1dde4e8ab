"""The slow truth about the modern network of a language model: word by word, unit by unit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def averages_of(
    table: NDArray[Any], words: list[int], padding_id: int | None
) -> list[NDArray[Any]]:
    """Average word vectors, times 4: equally, and with weights that halve every three words."""
    kept = [
        (2.0 ** -((len(words) - 1 - index) / 3), word)
        for index, word in enumerate(words)
        if word != padding_id
    ]
    if not kept:
        return [np.zeros(table.shape[1])] * 2
    equal = sum(table[word] for _, word in kept) / len(kept)
    near = sum(weight * table[word] for weight, word in kept) / sum(weight for weight, _ in kept)
    return [4 * equal, 4 * near]


def hidden_state(
    weights: dict[str, NDArray[Any]], context: list[int], n_far: int, padding_id: int
) -> NDArray[Any]:
    """Compute the input of the output layer, without dropout."""
    table = weights["embedding.weight"]
    parts = [table[word] for word in context[n_far:]]
    if n_far:
        parts += averages_of(table, context[:n_far], padding_id)
    x = np.concatenate(parts)
    hidden = _linear(weights, "hidden_layer", x)
    if "blocks.norm.weight" not in weights:
        return np.tanh(hidden)
    for block in range(sum(name.endswith("first.weight") for name in weights)):
        name = f"blocks.blocks.{block}"
        inner = np.maximum(
            _linear(weights, f"{name}.first", _normalized(weights, f"{name}.norm", hidden)), 0
        )
        hidden = hidden + _linear(weights, f"{name}.second", inner)
    return _normalized(weights, "blocks.norm", hidden)


def _linear(weights: dict[str, NDArray[Any]], name: str, x: NDArray[Any]) -> NDArray[Any]:
    return np.array(
        [
            sum(w * value for w, value in zip(row, x, strict=True)) + bias
            for row, bias in zip(weights[f"{name}.weight"], weights[f"{name}.bias"], strict=True)
        ]
    )


def _normalized(weights: dict[str, NDArray[Any]], name: str, x: NDArray[Any]) -> NDArray[Any]:
    mean = sum(x) / len(x)
    variance = sum((value - mean) ** 2 for value in x) / len(x)
    return (x - mean) / np.sqrt(variance + 1e-5) * weights[f"{name}.weight"] + weights[
        f"{name}.bias"
    ]
