"""The models of the sentence benchmark: encoders, their ablations, and TF-IDF baselines.

Document frequencies of the baselines are counted in the training paragraphs. The SVD is fitted on a
random sample of their sentences; hashed n-grams are folded into the same number of columns after
weighting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from benchmarks.language import sentence_tasks
from benchmarks.language.sentence_tasks import Pairs
from sklearn_hashnlp.sentences import Network, Objectives, SGNNSentenceEncoder
from sklearn_hashnlp.text import HashingNgramVectorizer, split_sentences

SMALL: dict[str, Any] = {}  # the estimator's defaults: trained within an hour on two cores

# The small encoder before training, and before training on sentences.
UNTRAINED: dict[str, Any] = {"word_steps": 0, "n_components_removed": 0, "max_epochs": 0}
ENCODERS: dict[str, dict[str, Any]] = {
    "untrained encoder": SMALL | UNTRAINED,
    "encoder after word pretraining": SMALL | {"max_epochs": 0},
    "trained encoder": SMALL,
}

# What the ablations were measured with: defaults of an earlier version.
EARLIER: dict[str, Any] = {
    "projection_dim": 640,
    "context_weight": 0.1,
    "n_components_removed": 30,
    "network__embedding_dim": 384,
    "n_tables": 8,
    "table_bits": 13,
    "max_words": 256,
    "learning_rate": 1e-3,
}

# Settings that replace those.
ABLATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "loss: BXENT": {"objectives__loss": "bxent"},
    "loss: cosine proximity": {"objectives__loss": "proximity"},
    "loss: von Mises-Fisher": {"objectives__loss": "vmf"},
    "head: words alone": {"objectives__sentence_weight": 0.0, "objectives__word_weight": 1.0},
    "1 layer, head: masked words alone": {
        "network__n_layers": 1,
        "learning_rate": 5e-4,
        "objectives__sentence_weight": 0.0,
        "objectives__masked_weight": 1.0,
    },
    "heads: words, annealed, and sentences": {"objectives__word_weight": (1.0, 0.0)},
    "1 layer, heads: masked words, annealed, and sentences": {
        "network__n_layers": 1,
        "learning_rate": 5e-4,
        "objectives__masked_weight": (1.0, 0.0),
    },
    "pooling: mean": {"network__pooling": "mean"},
    "pooling: max": {"network__pooling": "max"},
    "pooling: attention": {"network__pooling": "attention"},
    "1 layer": {"network__n_layers": 1, "learning_rate": 5e-4},
    "2 layers": {"network__n_layers": 2, "learning_rate": 5e-4},
    "2 layers, both depths": {"network__n_layers": 2, "network__depths": 2, "learning_rate": 5e-4},
    "1 layer, random start": {"network__n_layers": 1, "learning_rate": 5e-4, "init": "random"},
    "width 256": {"network__embedding_dim": 256},
    "width 768": {"network__embedding_dim": 768},
    "40 projections": {"n_projections": 40},
    "160 projections": {"n_projections": 160},
    "no tables": {"n_tables": 0},
    "no word pretraining": {"word_steps": 0},
    "no components removed": {"n_components_removed": 0},
    "context weight 0.2": {"context_weight": 0.2},
    "context weight 0.5": {"context_weight": 0.5},
    "context weight 1": {"context_weight": 1.0},
}

# Ablations measured with options that are now parameters of nn.SGNNTransformer alone.
EARLIER_ABLATIONS = ("pooling: 2,000 wide", "1 layer, no positions")


DIM = 1024
SVD_SENTENCES = 30_000
SVD_MIN_DF = 5  # paragraphs that an n-gram of the SVD must occur in
N_GRAMS: dict[str, dict[str, Any]] = {
    "words": {},  # scikit-learn's default: words of two letters or more
    "characters": {"analyzer": "char_wb", "ngram_range": (2, 5)},
}


def tfidf(n_grams: str, paragraphs: list[str]) -> Pipeline:
    """Build TF-IDF vectors of all n-grams."""
    return make_pipeline(TfidfVectorizer(**N_GRAMS[n_grams], dtype=np.float32)).fit(paragraphs)


def reduced(n_grams: str, paragraphs: list[str]) -> Pipeline:
    """Build TF-IDF vectors reduced by a truncated SVD of sentences."""
    vectorizer = TfidfVectorizer(
        **N_GRAMS[n_grams], min_df=min(SVD_MIN_DF, len(paragraphs) // 10), dtype=np.float32
    )
    vectorizer.fit(paragraphs)
    sentences = [sentence for paragraph in paragraphs for sentence in split_sentences(paragraph)]
    sample = np.random.default_rng(0).permutation(len(sentences))[:SVD_SENTENCES]
    rows = vectorizer.transform([sentences[i] for i in np.sort(sample)])
    svd = TruncatedSVD(min(DIM, min(rows.shape) - 1), random_state=0).fit(rows)
    return make_pipeline(vectorizer, svd, Normalizer())


def hashed(n_grams: str, paragraphs: list[str]) -> Pipeline:
    """Build TF-IDF vectors of signed hashed n-grams, folded into few columns."""
    vectorizer = HashingNgramVectorizer(**N_GRAMS[n_grams], norm=None, dtype=np.float32)
    pipeline = make_pipeline(
        vectorizer, TfidfTransformer(), FunctionTransformer(fold, accept_sparse=True), Normalizer()
    )
    return pipeline.fit(paragraphs)


def fold(rows: sp.csr_matrix) -> NDArray[np.float32]:
    """Add column ``i`` to column ``i % DIM``, which equals hashing into that many columns."""
    folded = sp.csr_matrix((rows.data, rows.indices % DIM, rows.indptr), shape=(rows.shape[0], DIM))
    dense: NDArray[np.float32] = folded.toarray()  # sums entries of the same index
    return dense


BASELINES: dict[str, Callable[[list[str]], Pipeline]] = {
    "TF-IDF, words": lambda paragraphs: tfidf("words", paragraphs),
    "TF-IDF, characters": lambda paragraphs: tfidf("characters", paragraphs),
    "TF-IDF, words, SVD": lambda paragraphs: reduced("words", paragraphs),
    "TF-IDF, characters, SVD": lambda paragraphs: reduced("characters", paragraphs),
    "hashed words": lambda paragraphs: hashed("words", paragraphs),
    "hashed characters": lambda paragraphs: hashed("characters", paragraphs),
}


NOT_LEARNED = (
    "callbacks",
    "checkpoint_dir",
    "checkpoint_every",
    "resume",
    "scoring",
    "sentence_splitter",
    "verbose",
)


def make_encoder(settings: dict[str, Any]) -> SGNNSentenceEncoder:
    """Return an encoder with settings, also of bundles, such as ``network__n_layers``."""
    return SGNNSentenceEncoder(network=Network(), objectives=Objectives()).set_params(**settings)


def train_encoder(
    paragraphs: Sequence[str],
    settings: dict[str, Any],
    *,
    seed: int,
    folder: Path,
    monitored: Pairs | None,
) -> tuple[SGNNSentenceEncoder, dict[str, Any]]:
    """Train an encoder, or resume from its checkpoint; a resumed training reports no seconds."""
    is_new = not folder.exists()
    # Without training on sentences there is nothing to resume.
    checkpoints = (
        {} if settings.get("max_epochs") == 0 else {"checkpoint_dir": folder, "resume": True}
    )
    scoring = (
        None if monitored is None else lambda model: sentence_tasks.correlation(model, monitored)
    )
    start = time.perf_counter()
    options = settings | checkpoints | {"scoring": scoring, "random_state": seed, "verbose": 2}
    encoder = make_encoder(options).fit(paragraphs)
    training = {
        "settings": learning_parameters(encoder),
        "waiting share": encoder.waiting_share_,
        "parameters": encoder.n_parameters_,
        "log": encoder.log_,
    }
    return encoder, training | ({"seconds": time.perf_counter() - start} if is_new else {})


def learning_parameters(encoder: SGNNSentenceEncoder) -> dict[str, Any]:
    """Return the parameters that affect the learned weights, with the fields of bundles."""
    parameters = encoder.get_params()
    return {
        name: parameters[name]
        for name in parameters
        if name not in (*NOT_LEARNED, "network", "objectives")
    }
