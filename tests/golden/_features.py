"""Golden configurations of what learns no weights: vectorizers, projections, trees and hash
functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklearn_hashnlp import (
    CharNgramFeaturizer,
    FrequentNgramVectorizer,
    HashingNgramVectorizer,
    SGNNProjector,
    SGNNWordProjector,
    nn,
    trees,
)
from sklearn_hashnlp.sentences._ngram_regression import NgramDictionary
from sklearn_hashnlp.sentences._sentence_reader import WordFrequencies, read_paragraphs
from sklearn_hashnlp.text import AutoNgramVectorizer, distort_texts, project_words, split_sentences
from sklearn_hashnlp.text._fasttext_vectorizer import FastTextVectorizer
from tests.golden._register import (
    UNUSUAL,
    Arrays,
    golden,
    golden_table,
    n_jobs,
    sparse_arrays,
    texts,
)


def _hashed(**settings: Any) -> Arrays:
    vectorizer = HashingNgramVectorizer(**{"ngram_range": (1, 2)} | settings, n_jobs=n_jobs())
    return sparse_arrays(vectorizer.transform(UNUSUAL + texts()))


def _featurized(**settings: Any) -> Arrays:
    return sparse_arrays(featurizer(**settings).transform(UNUSUAL + texts()))


def featurizer(**settings: Any) -> CharNgramFeaturizer:
    """Return the featurizer of the projections."""
    return CharNgramFeaturizer(**settings, n_jobs=n_jobs())


def projector(**settings: Any) -> SGNNProjector:
    """Return a projector."""
    return SGNNProjector(**settings, n_jobs=n_jobs())


@golden("exact")
def hashing_ngrams_of_words() -> Arrays:
    return _hashed() | {
        f"plain_{name}": array for name, array in _hashed(norm=None, dtype=np.float32).items()
    }


@golden("exact")
def hashing_ngrams_of_characters() -> Arrays:
    arrays = {}
    for analyzer in ("char", "char_wb"):
        rows = _hashed(
            analyzer=analyzer,
            ngram_range=(2, 4),
            binary=True,
            alternate_sign=False,
            stop_words=None,
        )
        arrays |= {f"{analyzer}_{name}": array for name, array in rows.items()}
    return arrays


@golden("exact")
def auto_ngrams() -> Arrays:
    vectorizer = AutoNgramVectorizer(ngram_range=(1, 3), n_jobs=n_jobs())
    words = sparse_arrays(vectorizer.transform(UNUSUAL + texts()))  # before fit
    chosen = sparse_arrays(vectorizer.fit(texts()).transform(UNUSUAL + texts()))
    return {f"words_{name}": array for name, array in words.items()} | chosen


@golden("exact")
def char_ngrams() -> Arrays:
    return _featurized() | {
        f"signed_{name}": array for name, array in _featurized(alternate_sign=True).items()
    }


@golden("exact")
def frequent_ngrams() -> Arrays:
    vectorizer = FrequentNgramVectorizer(
        max_features=1000, ngram_range=(1, 2), n_jobs=n_jobs()
    ).fit(texts())
    return sparse_arrays(vectorizer.transform(UNUSUAL + texts())) | {"counts": vectorizer.counts_}


@golden("exact")
def fasttext_words_and_ngrams() -> Arrays:
    options: dict[str, Any] = {
        "word_ngrams": 2,
        "bucket": 50_000,
        "min_n": 2,
        "max_n": 4,
        "min_count": 2,
    }
    vectorizer = FastTextVectorizer(**options, n_jobs=n_jobs()).fit(texts())
    return sparse_arrays(vectorizer.transform(UNUSUAL + texts()))


@golden("exact")
def text_rows_in_chunks() -> Arrays:
    many = 10 * texts()  # more characters than one thread takes at a time
    built = {
        "words": HashingNgramVectorizer(ngram_range=(1, 2), n_jobs=n_jobs()),
        "characters": featurizer(n_features=2**12),
        "frequent": FrequentNgramVectorizer(max_features=1000, ngram_range=(1, 2), n_jobs=n_jobs()),
    }
    rows = {
        name: sparse_arrays(vectorizer.fit_transform(many)) for name, vectorizer in built.items()
    }
    return {
        f"{name}_{part}": array for name, arrays in rows.items() for part, array in arrays.items()
    }


@golden("exact")
def sgnn_projections() -> Arrays:
    rows = featurizer().transform(UNUSUAL + texts())
    return {
        output: projector(output=output).transform(rows)
        for output in ("binary", "sign", "packed", "float")
    }


@golden("exact")
def sgnn_projections_with_other_hyperplanes() -> Arrays:
    rows = featurizer(alternate_sign=True).transform(UNUSUAL + texts())
    return {
        "sparse": projector(density=0.1, random_state=3).transform(rows),
        "sparse_float": projector(density=0.1, random_state=3, output="float").transform(rows),
        "sign": projector(hyperplanes="sign").transform(rows),
        "google": projector(hyperplanes="google", n_projections=10).transform(rows),
        "dense_rows": projector(n_projections=3).transform(rows[:40, :5000].toarray()),
    }


@golden("exact")
def sgnn_word_projections() -> Arrays:
    means = SGNNWordProjector(featurizer(), projector()).transform(UNUSUAL + texts())
    floats = SGNNWordProjector(featurizer(), projector(output="float", n_projections=5)).transform(
        UNUSUAL + texts()
    )
    words = project_words(
        texts()[:40], featurizer=featurizer(), projector=projector(n_projections=5)
    )
    return {
        "means": means,
        "means_of_floats": floats,
        "words": words.projections,
        "values": np.asarray(words.rows.values, dtype=np.int64),
        "offsets": np.asarray(words.rows.offsets, dtype=np.int64),
    }


@golden("exact")
def weights_by_document_frequency() -> Arrays:
    paragraphs = read_paragraphs(
        texts(), split=split_sentences, max_sentences=8, max_words=256, caller="golden"
    )
    words, rows = paragraphs.words, paragraphs.sentences
    dictionary = NgramDictionary.learn(words, rows, 2000)
    design = dictionary.design(words, rows)
    parts = {name: sparse_arrays(part) for name, part in design._asdict().items()}
    return {
        "words": WordFrequencies.count(paragraphs).weights(words),
        "counts": dictionary.counts,
    } | {f"{name}_{key}": array for name, arrays in parts.items() for key, array in arrays.items()}


@golden("exact")
def sentences_and_distorted_texts() -> Arrays:
    distorted = distort_texts(texts(), 0.1, random_state=1)
    found = [sentence for text in UNUSUAL + texts() for sentence in split_sentences(text)]
    return {
        name: _bytes_of(strings)
        for name, strings in (("distorted", distorted), ("sentences", found))
    }


def _bytes_of(strings: list[str]) -> np.ndarray[Any, Any]:
    """Return the UTF-8 bytes of strings, 0xff behind each."""
    return np.frombuffer(b"".join(string.encode() + b"\xff" for string in strings), dtype=np.uint8)


# Counts and vectors from integer arithmetic, so that they depend on no random number generator.
_COUNTS = (np.arange(1, 98) * 7919) % 211 + 1
_VECTORS = np.array(
    [[(i * i + i * j * 31 + j * j * 7) % 53 for j in range(1, 9)] for i in range(1, 98)],
    dtype=float,
)


def _tree_arrays(name: str, tree: trees.SoftmaxTree) -> Arrays:
    arrays = {"children": tree.children, "offsets": tree.offsets, "depths": tree.depths}
    return {f"{name}_{key}": np.asarray(array, dtype=np.int64) for key, array in arrays.items()}


@golden("exact")
def softmax_trees() -> Arrays:
    built = {
        "complete": trees.complete_tree(_COUNTS),
        "balanced": trees.balanced_tree(_COUNTS, arity=2),
        "balanced_5": trees.balanced_tree(_COUNTS, arity=5),
        "random": trees.random_tree(_COUNTS, random_state=0),
        "huffman": trees.huffman_tree(_COUNTS, arity=2),
        "huffman_4": trees.huffman_tree(_COUNTS, arity=4),
        "two_level": trees.two_level_tree(_COUNTS, n_groups=None),
        "two_level_7": trees.two_level_tree(_COUNTS, n_groups=7),
        "nested": trees.tree_from_nested([[[[7, 8], [6, 5]], [[4, 1], [0, 2]]], [9, 3]]),
        "paths": trees.tree_from_paths([(0, 1), (1,), (0, 0)]),
    }
    return {
        key: array
        for name, tree in built.items()
        for key, array in _tree_arrays(name, tree).items()
    }


@golden("exact")
def cluster_trees() -> Arrays:
    shared: dict[str, Any] = {"leaf_size": None, "slack": 0.4, "random_state": 0}
    built = {
        "binary": trees.cluster_tree(_COUNTS, _VECTORS, arity=2, balance="size", **shared),
        "sqrt": trees.cluster_tree(_COUNTS, _VECTORS, arity="sqrt", balance="counts", **shared),
        "auto": trees.cluster_tree(_COUNTS, _VECTORS, arity=6, balance="auto", **shared),
        "cost": trees.cluster_tree(_COUNTS, _VECTORS, arity=(9,), balance="cost", **shared),
    }
    return {
        key: array
        for name, tree in built.items()
        for key, array in _tree_arrays(name, tree).items()
    }


@golden("exact")
def hash_ids() -> Arrays:
    ids = torch.tensor([0, 1, 2, 3, 1000, 2**20, 2**31 - 2, 2**31 - 1, 2**32 - 1, 2**32 - 1])
    arrays = _located(torch.cat([ids, (torch.arange(500) * 2654435761) % (2**31 - 1)]))
    unhashed = nn.HashEmbedding(
        2**14, 4, num_buckets=2**12, num_hashes=2, variant="improved", hash_rows=False, seed=0
    )
    rows, slots = unhashed.locate(torch.arange(2**10))
    return arrays | {"unhashed_rows": rows.numpy(), "unhashed_slots": slots.numpy()}


@golden("exact")
def hash_wide_ids() -> Arrays:
    ids = torch.tensor([0, 2**32 - 1, 2**32, 2**32 + 1, 2**62, 2**63 - 1, -(2**63), -1])
    return _located(torch.cat([ids, torch.arange(500) * 0x1E3779B97F4A7C15]))


def _located(ids: Tensor) -> Arrays:
    """Return the rows of ids in the tables of hash embeddings."""
    arrays: Arrays = {}
    for variant in ("improved", "paper", "standard"):
        for seed in (0, 2**40 + 5):
            embedding = nn.HashEmbedding(
                2**14,
                4,
                num_buckets=2**12,
                num_hashes=3,
                variant=variant,
                hash_rows=True,
                seed=seed,
            )
            rows, slots = embedding.locate(ids)
            arrays |= {
                f"{variant}_{seed}_rows": rows.numpy(),
                f"{variant}_{seed}_slots": slots.numpy(),
            }
    return arrays


@golden("exact")
def sgnn_projection_module() -> Arrays:
    rows = featurizer().transform(texts()[:60])
    module = nn.SGNNProjection(20, 8, output="binary", density=1.0, hyperplanes="normal", seed=7)
    parts = (torch.from_numpy(array) for array in (rows.indices, rows.indptr, rows.data))
    return {"bits": module(*parts).numpy()}


HASHED: dict[str, dict[str, Any]] = {
    "hashing_ngrams_with_punctuation": {
        "token_pattern": r"\w+|[^\w\s]", "ngram_range": (1, 3), "n_features": 2**31 - 1,
        "norm": "l1", "strip_accents": "unicode",
    },
    "hashing_ngrams_left_to_scikit_learn": {
        "tokenizer": str.split, "token_pattern": None, "stop_words": "english", "norm": None,
    },
}  # fmt: skip
golden_table("exact", _hashed, HASHED)
FEATURIZED: dict[str, dict[str, Any]] = {
    "char_ngrams_split_at_punctuation": {
        "ngram_range": (2, 5), "split": "punctuation", "lowercase": True, "binary": True,
        "norm": "l2",
    },
    "skip_grams": {
        "analyzer": "skipgram", "ngram_range": (1, 2), "lowercase": True, "n_features": 2**16,
    },
}  # fmt: skip
golden_table("exact", _featurized, FEATURIZED)
