"""The whole way from strings to labels in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import FeatureUnion, Pipeline

from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.text import HashingNgramVectorizer
from sklearn_hashnlp.trees import SoftmaxTree

_TOKENS = r"\w+|[^\w\s]"
_COLUMNS = 2**31 - 1
_COLUMNS_OF_EACH = 2**30 - 1  # two side by side still have column numbers of 32 bits


def make_text_classifier(
    *,
    features: str = "words",
    ngram_range: tuple[int, int] = (1, 2),
    n_buckets: int = 2**20,
    n_hashes: int = 1,
    n_embeddings: int = 2**20,
    embedding_dim: int | str = "auto",
    loss: str = "softmax",
    tree: str | SoftmaxTree = "two_level",
    class_weight: dict[Any, float] | str | None = None,
    learning_rate: float = 0.2,
    average: bool = True,
    max_epochs: int | str = "auto",
    batch_size: int | str = "auto",
    early_stopping: bool = False,
    device: str = "cpu",
    n_jobs: int | None = -1,
    callbacks: list[Any] | None = None,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
) -> Pipeline:
    r"""Make a classifier that takes raw strings and is good with nothing else set.

    A pipeline of two steps. ``"vectorizer"``: what counts n-grams in lower case. ``"classifier"``: a
    :class:`HashEmbeddingClassifier`.

    Parameters
    ----------
    features : {"words", "words+characters", "characters"}, default="words"
        ``"words"``: a :class:`~sklearn_hashnlp.text.HashingNgramVectorizer` that counts words and pairs of words, where
        every single character and every punctuation mark is a word of its own
        (``token_pattern=r"\w+|[^\w\s]"``; scikit-learn's default drops both, and in short utterances much hangs on
        them). ``"words+characters"``: a :class:`~sklearn.pipeline.FeatureUnion` of that (``"words"``) and of n-grams of
        2 to 5 characters within words (``"characters"``), which count half. ``"characters"``: n-grams of 1 to 4
        characters within words alone. Characters take more time and tell more where words are rare, misspelt or
        inflected, or where the language itself is asked for.
    ngram_range : (int, int), default=(1, 2)
        Fewest and most words of an n-gram; ``features="characters"`` has no use for it.
    n_buckets : int, default=2**20
        Vectors in the shared pool: fewer make a smaller model.
    n_hashes : int, default=1
        Vectors of the pool that make up one n-gram's. In a pool of this size a second one costs time and gains nothing;
        in a small pool it may.
    n_embeddings : int, default=2**20
        Rows of the importance table.
    embedding_dim : int or "auto", default="auto"
        Length of a vector; ``"auto"`` goes by the number of classes.
    loss : {"softmax", "ova", "hinge", "hsigmoid"}, default="softmax"
        Cross-entropy; ``"ova"``, with which documents may have any number of labels; a margin; or ``"hsigmoid"``,
        cross-entropy by a tree of the classes, which is faster with many thousands of them.
    tree : {"two_level", "huffman", "balanced", "complete", "random"} or SoftmaxTree, default="two_level"
        Which tree, for ``loss="hsigmoid"``.
    class_weight : dict, "balanced" or None, default=None
        How much the documents of each label count.
    learning_rate : float, default=0.2
        Step size.
    average : bool, default=True
        Whether to end with the mean of the weights over the last quarter of the training.
    max_epochs : int or "auto", default="auto"
        Passes over the documents; ``"auto"`` is two, from 20,000 documents on one, and 20 with ``early_stopping``.
    batch_size : int or "auto", default="auto"
        Documents a step; ``"auto"`` goes by their number.
    early_stopping : bool, default=False
        Whether to hold out some documents and keep the epoch that is best on them.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where to train and predict.
    n_jobs : int or None, default=-1
        Threads of the vectorizer; -1 is one for each processor, None is one. The result does not depend on it.
    callbacks : list of skorch callbacks or None, default=None
        Handed to skorch as they are.
    random_state : int, RandomState instance or None, default=None
        The same int gives the same model to the last bit.
    verbose : int, default=0
        1 prints a line an epoch, 2 and 3 more.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Steps ``"vectorizer"`` and ``"classifier"``; any other parameter of theirs is reached by ``set_params``.

    See Also
    --------
    HashEmbeddingClassifier : The classifier; its documentation says more of each parameter.
    sklearn_hashnlp.text.HashingNgramVectorizer : The vectorizer.

    Raises
    ------
    ValueError
        If ``features`` is none of the three. All else is checked in ``fit``.

    Notes
    -----
    N-grams are hashed to 2**31 - 1 columns, words and characters side by side to 2**30 - 1 each.

    The defaults were chosen on held-out training rows of AG News, IMDB, SST-2, TREC and the standard library's
    docstrings. What is worth trying first on other data: ``learning_rate``, ``batch_size`` and ``max_epochs``.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import make_text_classifier
    >>> texts = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through"]
    >>> model = make_text_classifier(random_state=0).fit(texts, ["good", "bad", "good", "bad"])
    >>> model.predict(["fine and funny", "so dull"])
    array(['good', 'bad'], dtype='<U4')
    """
    if features == "words":
        vectorizer: Any = _count_words(ngram_range, _COLUMNS, n_jobs)
    elif features == "characters":
        vectorizer = _count_characters((1, 4), _COLUMNS, n_jobs)
    elif features == "words+characters":
        vectorizer = FeatureUnion(
            [
                ("words", _count_words(ngram_range, _COLUMNS_OF_EACH, n_jobs)),
                ("characters", _count_characters((2, 5), _COLUMNS_OF_EACH, n_jobs)),
            ],
            transformer_weights={"words": 1.0, "characters": 0.5},
        )
    else:
        raise ValueError(
            "The 'features' parameter of make_text_classifier must be 'words', 'words+characters' or 'characters'. "
            f"Got {features!r} instead."
        )
    classifier = HashEmbeddingClassifier(
        n_buckets=n_buckets,
        n_hashes=n_hashes,
        n_embeddings=n_embeddings,
        embedding_dim=embedding_dim,
        loss=loss,
        tree=tree,
        class_weight=class_weight,
        learning_rate=learning_rate,
        average=average,
        max_epochs=max_epochs,
        batch_size=batch_size,
        early_stopping=early_stopping,
        device=device,
        callbacks=callbacks,
        random_state=random_state,
        verbose=verbose,
    )
    return Pipeline([("vectorizer", vectorizer), ("classifier", classifier)])


def _count_words(ngram_range: tuple[int, int], n_features: int, n_jobs: int | None) -> HashingNgramVectorizer:
    return HashingNgramVectorizer(
        token_pattern=_TOKENS,
        ngram_range=ngram_range,
        n_features=n_features,
        alternate_sign=False,  # signs make collisions cancel, and at this width next to nothing collides
        norm=None,  # the classifier's own norm knows how much each n-gram matters
        dtype=np.float32,
        n_jobs=n_jobs,
    )


def _count_characters(ngram_range: tuple[int, int], n_features: int, n_jobs: int | None) -> HashingNgramVectorizer:
    return HashingNgramVectorizer(
        analyzer="char_wb",
        ngram_range=ngram_range,
        n_features=n_features,
        alternate_sign=False,
        norm=None,
        dtype=np.float32,
        n_jobs=n_jobs,
    )
