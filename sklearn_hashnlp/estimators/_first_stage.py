"""What a sentence encoder learns without looking at the order of words."""

from __future__ import annotations

import numpy as np

from sklearn_hashnlp.estimators._cached_projections import CachedProjections
from sklearn_hashnlp.estimators._common_directions import common_directions
from sklearn_hashnlp.estimators._paragraphs import Paragraphs
from sklearn_hashnlp.estimators._sentence_reader import SentenceReader
from sklearn_hashnlp.estimators._word_contexts import context_targets
from sklearn_hashnlp.estimators._word_stage import learn_words
from sklearn_hashnlp.nn import SentenceNetwork

_MOST_WORDS = 100_000  # that are learned: the most frequent


def first_stage(
    network: SentenceNetwork,
    paragraphs: Paragraphs,
    reader: SentenceReader,
    projections: CachedProjections,
    *,
    word_steps: int,
    n_common: int,
    seed: int,
    verbose: int = 0,
) -> None:
    """Let a network learn the vectors of words, and what all sentences share."""
    if network.transformer is not None and word_steps:
        numbers, targets, counts = context_targets(paragraphs, n_components=network.transformer.width, seed=seed)
        most = np.sort(np.argsort(-counts, kind="stable")[:_MOST_WORDS])
        if len(most):
            learn_words(
                network.transformer,
                projections,
                numbers[most],
                targets[most],
                counts[most],
                n_steps=word_steps,
                verbose=verbose,
            )
    if network.spelling is not None and n_common:
        weights = reader.weights(paragraphs.words)
        network.common = common_directions(network, paragraphs.sentences, weights, projections, n_common)
