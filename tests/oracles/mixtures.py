"""Slow truths about mixtures of language models: counts of a cache word by word, expectation
maximization in floats.
"""

import math


def cache_prob(
    history: list[str],  # the words before, the oldest first
    word: str,
    word_probs: dict[str, float],
    *,
    cache_size: int,
    decay: float,
    unigram_prior: float,
    bigram_prior: float,
) -> float:
    """Return the probability of a word after others, as CacheLanguageModel defines it."""
    recent = history[-cache_size:]
    weights = [decay ** (len(recent) - 1 - index) for index in range(len(recent))]
    count = sum(weight for weight, other in zip(weights, recent, strict=True) if other == word)
    unigram = (count + unigram_prior * word_probs[word]) / (sum(weights) + unigram_prior)
    followers = [index for index in range(1, len(recent)) if recent[index - 1] == recent[-1]]
    pairs = sum(weights[index] for index in followers if recent[index] == word)
    return (pairs + bigram_prior * unigram) / (
        sum(weights[index] for index in followers) + bigram_prior
    )


def em_steps(probs: list[list[float]], n_steps: int) -> tuple[list[float], list[float]]:
    """Return the weights of models after some iterations from equal ones, and the log-likelihood
    before each.
    """
    weights = [1 / len(probs[0])] * len(probs[0])
    scores = []
    for _ in range(n_steps):
        totals = [
            sum(weight * prob for weight, prob in zip(weights, row, strict=True)) for row in probs
        ]
        scores.append(sum(math.log(total) for total in totals) / len(probs))
        weights = [
            sum(weight * row[index] / total for row, total in zip(probs, totals, strict=True))
            / len(probs)
            for index, weight in enumerate(weights)
        ]
    return weights, scores


def context_bin(count: int, n_contexts: int) -> int:
    """Return the bin of a context that occurs so often among all contexts of a text."""
    return math.ceil(-math.log((1 + count) / (1 + n_contexts)))
