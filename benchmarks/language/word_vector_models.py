"""Word vectors of HsigmoidLanguageModel and of gensim's Word2Vec, trained on the same words."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.fasttext_peers import TOKENS
from benchmarks.common.peer_packages import Peer, import_peer
from sklearn_hashnlp.language import HsigmoidLanguageModel, Regularization

GENSIM = Peer("gensim", "gensim", ("smart_open", "wrapt"))
SKIP_GRAM: dict[str, Any] = {
    "sg": 1,
    "hs": 1,
    "negative": 0,
    "vector_size": 100,
    "window": 5,
    "workers": 1,
}
MIN_COUNT = 5
SAMPLE = 1e-3  # gensim's default, in ours too: words more frequent than that are dropped at random
OURS: dict[str, Any] = {"embedding_dim": 64, "hidden_size": 64, "learning_rate": 0.5} | {
    "regularization__dropout": 0.0,
    "batch_size": 512,
    "max_epochs": 2,
}
# Windows of five words before a word, and of five words on each side
SIDES = {"words before": {"order": 6}, "words on both sides": {"order": 11}}

Vectors = dict[str, NDArray[np.float32]]


class Text(NamedTuple):
    """Tokenized paragraphs, and the words that occur often enough, from frequent to rare."""

    paragraphs: list[list[str]]
    counts: dict[str, int]


class Trained(NamedTuple):
    """Words, their vectors by name, and the seconds of processor and clock that they took."""

    words: list[str]
    vectors: Vectors
    cpu_seconds: float
    seconds: float


def tokenize(lines: list[str]) -> Text:
    paragraphs = [TOKENS.findall(line.lower()) for line in lines]
    counts = Counter(word for paragraph in paragraphs for word in paragraph)
    return Text(
        paragraphs, {word: count for word, count in counts.most_common() if count >= MIN_COUNT}
    )


def skip_gram(folder: Path, text: Text, epochs: int, seed: int) -> Trained:
    """Train gensim's skip-gram with hierarchical softmax, default learning rate and subsampling."""
    word2vec = import_peer(GENSIM._replace(module="gensim.models"), folder).Word2Vec

    def train() -> tuple[list[str], Vectors]:
        model = word2vec(
            text.paragraphs,
            **SKIP_GRAM,
            min_count=MIN_COUNT,
            sample=SAMPLE,
            epochs=epochs,
            seed=seed,
        )
        return list(model.wv.index_to_key), {"vectors": model.wv.vectors}

    return _timed(train)


def ours(text: Text, side: str, seed: int, epochs: int) -> Trained:
    """Train a language model; its embeddings, the vectors of its contexts, and both joined."""

    def train() -> tuple[list[str], Vectors]:
        words = list(text.counts)
        vocabulary = {
            word: word_id for word_id, word in enumerate([*words, "</s>", "<unk>", "<s>"])
        }
        encoded = subsample(text, vocabulary, seed)
        settings = OURS | SIDES[side] | {"max_epochs": epochs}
        model = HsigmoidLanguageModel(
            vocabulary=vocabulary, regularization=Regularization(), random_state=seed
        )
        model.set_params(**settings)
        n_words = (
            int(settings["order"]) // 2
            if side == "words on both sides"
            else int(settings["order"]) - 1
        )
        make = both_sides if side == "words on both sides" else before

        def reader() -> Iterator[NDArray[np.int64]]:
            return iter(make(encoded, vocabulary["<s>"], n_words))

        embeddings = model.fit(reader).embeddings_[: len(words)]
        contexts = model.context_vectors(reader)[: len(words)]
        return words, {
            "embeddings": embeddings,
            "context vectors": contexts,
            "both": np.hstack([_units(embeddings), _units(contexts)]),
        }

    return _timed(train)


def subsample(text: Text, vocabulary: dict[str, int], seed: int) -> list[NDArray[np.int64]]:
    """Encode paragraphs and their ends without rare words; drop frequent ones as word2vec does."""
    frequencies = np.array(list(text.counts.values())) / sum(text.counts.values())
    share = np.minimum(1, (np.sqrt(frequencies / SAMPLE) + 1) * SAMPLE / frequencies)
    generator = np.random.default_rng(seed)
    encoded = []
    for paragraph in text.paragraphs:
        ids = np.array(
            [vocabulary[word] for word in paragraph if word in text.counts], dtype=np.int64
        )
        encoded.append(np.append(ids[generator.random(len(ids)) < share[ids]], vocabulary["</s>"]))
    return encoded


def both_sides(paragraphs: list[NDArray[np.int64]], start: int, n_words: int) -> NDArray[np.int64]:
    """Return the windows of n words on each side of a word, and that word in the last column."""
    columns = [*range(n_words), *range(n_words + 1, 2 * n_words + 1), n_words]
    return _windows(paragraphs, start, n_words, n_words)[:, columns]


def before(paragraphs: list[NDArray[np.int64]], start: int, n_words: int) -> NDArray[np.int64]:
    """Return the windows of n words before a word, and that word in the last column."""
    return _windows(paragraphs, start, n_words, 0)


def _windows(
    paragraphs: list[NDArray[np.int64]], start: int, n_before: int, n_after: int
) -> NDArray[np.int64]:
    padding = np.full(max(n_before, n_after), start)
    ids = np.concatenate(
        [part for paragraph in paragraphs for part in (padding, paragraph)] + [padding]
    )
    windows = np.lib.stride_tricks.sliding_window_view(ids, n_before + 1 + n_after)
    return windows[windows[:, n_before] != start]


def _units(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms > 0, norms, 1)).astype(np.float32, copy=False)


def _timed(train: Callable[[], tuple[list[str], Vectors]]) -> Trained:
    cpu, clock = time.process_time(), time.perf_counter()
    words, vectors = train()
    return Trained(words, vectors, time.process_time() - cpu, time.perf_counter() - clock)
