"""The whole way from strings to labels in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from sklearn_hashnlp.estimators._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.text import HashingNgramVectorizer

_TOKENS = r"\w+|[^\w\s]"


def make_text_classifier(
    *,
    ngram_range: tuple[int, int] = (1, 2),
    n_buckets: int = 10**6,
    n_hashes: int = 2,
    embedding_dim: int = 20,
    max_epochs: int = 2,
    early_stopping: bool = False,
    device: str = "cpu",
    n_jobs: int | None = None,
    callbacks: list[Any] | None = None,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
) -> Pipeline:
    r"""Make a classifier that takes raw strings and is good with nothing else set.

    A pipeline of two steps. ``"vectorizer"``: a :class:`~sklearn_hashnlp.text.HashingNgramVectorizer` that counts words
    and pairs of words in lower case, where every single character and every punctuation mark is a word of its own
    (``token_pattern=r"\w+|[^\w\s]"``; scikit-learn's default drops both, and in short
    utterances much hangs on them), hashed to 2**31 - 1 columns. ``"classifier"``: a :class:`HashEmbeddingClassifier`.

    Parameters
    ----------
    ngram_range : (int, int), default=(1, 2)
        Fewest and most words of an n-gram.
    n_buckets : int, default=10**6
        Vectors in the shared pool: fewer make a smaller model.
    n_hashes : int, default=2
        Vectors of the pool that make up one n-gram's.
    embedding_dim : int, default=20
        Length of a vector.
    max_epochs : int, default=2
        Passes over the documents.
    early_stopping : bool, default=False
        Whether to hold out some documents and keep the epoch that is best on them; set ``max_epochs`` higher then.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where to train and predict.
    n_jobs : int, default=None
        Threads of the vectorizer; None is one, -1 is all.
    callbacks : list of skorch callbacks or None, default=None
        Handed to skorch as they are.
    random_state : int, RandomState instance or None, default=None
        The same int gives the same model to the last bit.
    verbose : int, default=0
        1 prints a line an epoch.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Steps ``"vectorizer"`` and ``"classifier"``; any other parameter of theirs is reached by ``set_params``.

    See Also
    --------
    HashEmbeddingClassifier : The classifier.
    sklearn_hashnlp.text.HashingNgramVectorizer : The vectorizer.

    Notes
    -----
    The defaults were chosen on held-out training rows of AG News, IMDB, SST-2, TREC and the standard library's
    docstrings. What is worth trying first on other data: ``learning_rate``, ``batch_size`` and ``max_epochs``.

    Examples
    --------
    >>> from sklearn_hashnlp.estimators import make_text_classifier
    >>> texts = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through"]
    >>> model = make_text_classifier(random_state=0).fit(texts, ["good", "bad", "good", "bad"])
    >>> model.predict(["fine and funny", "so dull"])
    array(['good', 'bad'], dtype='<U4')
    """
    vectorizer = HashingNgramVectorizer(
        token_pattern=_TOKENS,
        ngram_range=ngram_range,
        n_features=2**31 - 1,
        alternate_sign=False,  # signs make collisions cancel, and at this width nothing collides
        norm=None,  # the classifier's own norm knows how much each n-gram matters
        dtype=np.float32,
        n_jobs=n_jobs,
    )
    classifier = HashEmbeddingClassifier(
        n_buckets=n_buckets,
        n_hashes=n_hashes,
        embedding_dim=embedding_dim,
        max_epochs=max_epochs,
        early_stopping=early_stopping,
        device=device,
        callbacks=callbacks,
        random_state=random_state,
        verbose=verbose,
    )
    return Pipeline([("vectorizer", vectorizer), ("classifier", classifier)])
