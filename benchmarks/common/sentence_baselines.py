"""Vectors of sentences that nothing was trained for but document frequencies: bags of n-grams, full and reduced.

Document frequencies are those of the training text's paragraphs. Reduced ones come from a truncated SVD of sentences of
it, by chance; hashed ones fall into as many columns after each n-gram has got its weight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from sklearn_hashnlp.text import HashingNgramVectorizer, split_sentences

DIM = 1024
SVD_SENTENCES = 30_000
SVD_FEWEST = 5  # paragraphs that an n-gram must be in to have a part in the SVD
N_GRAMS: dict[str, dict[str, Any]] = {
    "words": {},  # scikit-learn's, of two letters or more
    "characters": {"analyzer": "char_wb", "ngram_range": (2, 5)},
}


def tfidf(n_grams: str, paragraphs: list[str]) -> Pipeline:
    """Weigh n-grams at full width."""
    return make_pipeline(TfidfVectorizer(**N_GRAMS[n_grams], dtype=np.float32)).fit(paragraphs)


def reduced(n_grams: str, paragraphs: list[str]) -> Pipeline:
    """Weigh n-grams and project them onto the principal directions of sentences."""
    vectorizer = TfidfVectorizer(**N_GRAMS[n_grams], min_df=min(SVD_FEWEST, len(paragraphs) // 10), dtype=np.float32)
    vectorizer.fit(paragraphs)
    sentences = [sentence for paragraph in paragraphs for sentence in split_sentences(paragraph)]
    kept = np.random.default_rng(0).permutation(len(sentences))[:SVD_SENTENCES]
    rows = vectorizer.transform([sentences[i] for i in np.sort(kept)])
    svd = TruncatedSVD(min(DIM, min(rows.shape) - 1), random_state=0).fit(rows)
    return make_pipeline(vectorizer, svd, Normalizer())


def hashed(n_grams: str, paragraphs: list[str]) -> Pipeline:
    """Weigh hashed n-grams and add them up, with their signs, in few columns."""
    vectorizer = HashingNgramVectorizer(**N_GRAMS[n_grams], norm=None, dtype=np.float32)
    pipeline = make_pipeline(
        vectorizer, TfidfTransformer(), FunctionTransformer(fold, accept_sparse=True), Normalizer()
    )
    return pipeline.fit(paragraphs)


def fold(rows: sp.csr_matrix) -> NDArray[np.float32]:
    """Let column ``i`` fall into column ``i % DIM``: what hashing into so few gives."""
    folded = sp.csr_matrix((rows.data, rows.indices % DIM, rows.indptr), shape=(rows.shape[0], DIM))
    dense: NDArray[np.float32] = folded.toarray()  # adds up what stands in one place
    return dense


BASELINES: dict[str, Callable[[list[str]], Pipeline]] = {
    "TF-IDF, words": lambda paragraphs: tfidf("words", paragraphs),
    "TF-IDF, characters": lambda paragraphs: tfidf("characters", paragraphs),
    "TF-IDF, words, SVD": lambda paragraphs: reduced("words", paragraphs),
    "TF-IDF, characters, SVD": lambda paragraphs: reduced("characters", paragraphs),
    "hashed words": lambda paragraphs: hashed("words", paragraphs),
    "hashed characters": lambda paragraphs: hashed("characters", paragraphs),
}
