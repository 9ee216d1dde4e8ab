"""Slow truths about language models: windows sentence by sentence, hidden states word by word."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray


def reference_windows(sentence: str, order: int) -> Iterator[tuple[str, ...]]:
    """Yield the windows of the reference implementation's reader, with ``</s>`` for ``<e>``."""
    words = ["<s>", *sentence.strip().split(), "</s>"]
    if len(words) >= order:
        for end in range(order, len(words) + 1):
            yield tuple(words[end - order : end])


def windows_of(words: list[str], order: int, padding: str) -> list[str]:
    """Return the windows of one sentence, each joined by blanks."""
    padded = ["<s>"] * (order - 1 if padding == "full" else 1) + words + ["</s>"]
    return [" ".join(padded[end - order : end]) for end in range(order, len(padded) + 1)]


def hidden_states(model: Any, sentences: list[str]) -> list[list[NDArray[np.float64]]]:
    """Return the hidden states of a model of order 3 before each occurrence of each word."""
    states: dict[str, list[NDArray[np.float64]]] = {
        word: [] for word in model.vocabulary_ if word != "<s>"
    }
    for sentence in sentences:
        words = ["<s>", "<s>", *sentence.split(), "</s>"]
        for end in range(2, len(words)):
            context = torch.tensor([[model.vocabulary_[word] for word in words[end - 2 : end]]])
            with torch.no_grad():
                hidden = model.net_.module_.eval().hidden(context)[0].numpy().astype(np.float64)
            states[words[end]].append(hidden)
    return list(states.values())


def mean_hidden_states(model: Any, sentences: list[str]) -> NDArray[np.float64]:
    """Average the hidden layer of a model of order 3 word by word, and subtract the average over
    all.
    """
    states = hidden_states(model, sentences)
    mean = np.mean([state for of_word in states for state in of_word], axis=0)
    return np.array(
        [np.mean(of_word, axis=0) - mean if of_word else np.zeros_like(mean) for of_word in states]
    )


def discriminant_products(model: Any, sentences: list[str]) -> NDArray[np.float64]:
    """Return the inner products of words' expected mean states, by the inverse of the variance of
    single states.
    """
    states, means = hidden_states(model, sentences), mean_hidden_states(model, sentences)
    everything = [state for of_word in states for state in of_word]
    deviations = np.array(
        [state - np.mean(of_word, axis=0) for of_word in states for state in of_word]
    )
    within = deviations.T @ deviations / len(everything)
    within += 1e-3 * np.mean(np.diag(within)) * np.eye(len(within))
    between = sum(
        len(of_word) * np.outer(mean, mean) for of_word, mean in zip(states, means, strict=True)
    )
    root = np.linalg.cholesky(within)
    values, axes = np.linalg.eigh(
        np.linalg.solve(root, np.linalg.solve(root, between / len(everything)).T)
    )
    true = axes @ np.diag(np.maximum(values - len(states) / len(everything), 0)) @ axes.T
    expected = np.zeros_like(means)
    for i, of_word in enumerate(states):
        if of_word:
            expected[i] = true @ np.linalg.solve(
                true + np.eye(len(true)) / len(of_word), np.linalg.solve(root, means[i])
            )
    return expected @ expected.T
