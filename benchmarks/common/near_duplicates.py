"""Copies of texts with changed words, and searches for near-duplicates by bits and by MinHash."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline, make_pipeline

from benchmarks.common.memory import peak_mb, reset_peak, resident_mb
from benchmarks.common.peer_packages import Peer, import_peer
from sklearn_hashnlp import HashingNgramVectorizer
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector

PEER = Peer("datasketch", "datasketch")
BITS, MINHASH = "bits", "MinHash"
RATES = (0.05, 0.1, 0.2)
RECALL = [f"recall at {rate:.0%}" for rate in RATES]
ALIKE = 0.5  # share of words of two texts that are the same in the same order, of near-duplicates
BLOCK = 64  # texts compared with all at once: their distances stay in the cache
COUNTS: dict[str, Any] = {"norm": None, "alternate_sign": False}
NGRAMS: dict[str, Callable[[], Pipeline]] = {
    "words, counts": lambda: make_pipeline(HashingNgramVectorizer(**COUNTS)),
    "words": lambda: weighted(HashingNgramVectorizer(**COUNTS)),
    "1 and 2 words": lambda: weighted(HashingNgramVectorizer(ngram_range=(1, 2), **COUNTS)),
    "1 to 3 characters": lambda: weighted(CharNgramFeaturizer()),
}
SHINGLES = {
    f"{n} word{'s' * (n > 1)}, LSH {lsh}": (n, lsh) for n in (1, 2, 3) for lsh in (0.3, 0.5)
}
CHOICES = {BITS: tuple(NGRAMS), MINHASH: tuple(SHINGLES)}
# The largest distances that thresholds are chosen from: beyond them nearly all pairs are unrelated.
WIDEST = dict(zip(NGRAMS, (0.2, 0.35, 0.4, 0.3), strict=True)) | dict.fromkeys(SHINGLES, 0.9)

# pairs of texts and their distance; when the signatures were computed
Found = tuple[NDArray[np.float64], float]


class Planted(NamedTuple):
    """Paragraphs, and after them copies with changed words."""

    texts: list[str]
    originals: NDArray[np.int64]  # the index of the paragraph that each text is, or is a copy of
    rates: NDArray[np.float64]  # share of words changed; 0 for a paragraph


def weighted(vectorizer: Any) -> Pipeline:
    return make_pipeline(vectorizer, TfidfTransformer(sublinear_tf=True))


def plant(paragraphs: list[str], seed: int) -> Planted:
    """Add a copy with changed words of a tenth of the paragraphs, the rates in turn."""
    generator, every = np.random.default_rng(seed), " ".join(paragraphs).split()
    chosen = generator.choice(len(paragraphs), len(paragraphs) // 10, replace=False)
    rates = np.resize(RATES, len(chosen))
    copies = []
    for words, rate in zip((paragraphs[i].split() for i in chosen), rates, strict=True):
        for i in generator.choice(len(words), max(1, round(rate * len(words))), replace=False):
            drawn, kind = every[generator.integers(len(every))], generator.integers(10)
            words[i] = "" if kind == 0 else f"{words[i]} {drawn}" if kind == 1 else drawn
        copies.append(" ".join(filter(None, words)))
    n = len(paragraphs)
    return Planted(
        paragraphs + copies, np.append(np.arange(n), chosen), np.append(np.zeros(n), rates)
    )


def search_bits(
    texts: list[str], ngrams: str, size: int, seed: int, widest: float, _: Path | None
) -> Found:
    """Find the pairs with a share of different bits up to a limit, by all Hamming distances."""
    projector = SGNNProjector(n_projections=size // 14, output="packed", random_state=seed)
    rows = projector.transform(NGRAMS[ngrams]().fit_transform(texts))
    columns = np.pad(rows, ((0, 0), (0, -rows.shape[1] % 8))).view(np.uint64).T.copy()
    found, computed = [np.empty((0, 3))], time.process_time()
    for start in range(0, len(texts), BLOCK):
        distances = np.zeros((min(BLOCK, len(texts) - start), len(texts) - start), dtype=np.uint16)
        for column in columns:
            distances += np.bitwise_count(
                column[start : start + BLOCK, np.newaxis] ^ column[start:]
            )
        a, b = np.nonzero(distances <= widest * size)
        found.append(np.column_stack([a + start, b + start, distances[a, b] / size])[a < b])
    return np.concatenate(found), computed


def search_minhash(
    texts: list[str], shingles: str, size: int, seed: int, widest: float, folder: Path | None
) -> Found:
    """Find the pairs that MinHashLSH returns with an estimated Jaccard distance up to a limit."""
    assert folder is not None
    datasketch, (n, lsh) = import_peer(PEER, folder), SHINGLES[shingles]
    words = (re.findall(r"\w+", text.lower()) for text in texts)
    sets = (
        {" ".join(one[i : i + n]).encode() for i in range(max(len(one) - n + 1, 1))}
        for one in words
    )
    signatures = datasketch.MinHash.bulk(sets, num_perm=size, seed=seed + 1)
    values = np.array([one.hashvalues for one in signatures])
    index, computed = datasketch.MinHashLSH(threshold=lsh, num_perm=size), time.process_time()
    found = [np.empty((0, 3))]
    for b, signature in enumerate(signatures):
        others = np.array(index.query(signature), dtype=np.int64)
        # All at once: datasketch's jaccard of one pair at a time is slower.
        distances = (values[others] != values[b]).mean(axis=1)
        found.append(
            np.column_stack([others, np.full(len(others), b), distances])[distances <= widest]
        )
        index.insert(b, signature)
    return np.concatenate(found), computed


SEARCHES: dict[str, Callable[..., Found]] = {BITS: search_bits, MINHASH: search_minhash}


def measure(
    method: str, texts: list[str], *arguments: Any
) -> tuple[NDArray[np.float64], dict[str, float]]:
    """Search once; return pairs by distance, CPU seconds, and memory growth of a new process."""
    SEARCHES[method](texts[:100], *arguments)  # loads everything used
    reset_peak()
    memory, start = resident_mb(), time.process_time()
    pairs, computed = SEARCHES[method](texts, *arguments)
    seconds = {"signatures s": computed - start, "search s": time.process_time() - computed}
    return pairs[np.argsort(pairs[:, 2], kind="stable")], seconds | {"MiB": peak_mb() - memory}


def judge(planted: Planted, pairs: NDArray[np.float64], most: float = np.inf) -> dict[str, float]:
    """Return recall and counts of other pairs, up to the distance of ``most`` false positives."""
    a, b = planted.originals[pairs[:, :2].astype(np.int64)].T
    false = np.zeros(len(pairs), dtype=bool)
    for i in np.flatnonzero(a != b):
        words, others = (planted.texts[original].split() for original in (a[i], b[i]))
        matcher = difflib.SequenceMatcher(None, words, others, autojunk=False)
        false[i] = matcher.quick_ratio() < ALIKE or matcher.ratio() < ALIKE
        if false.sum() > most:
            pairs = pairs[pairs[:, 2] < pairs[i, 2]]
            break
    a = a[: len(pairs)]
    b = b[: len(pairs)]
    false = false[: len(pairs)]
    found = planted.rates[pairs[a == b, 1].astype(np.int64)]
    recall = [100 * float((found == rate).sum() / (planted.rates == rate).sum()) for rate in RATES]
    numbers = {"false positives": int(false.sum()), "natural": int((a != b).sum() - false.sum())}
    return (
        dict(zip(RECALL, recall, strict=True))
        | numbers
        | {"distance": float(pairs[:, 2].max(initial=0))}
    )
