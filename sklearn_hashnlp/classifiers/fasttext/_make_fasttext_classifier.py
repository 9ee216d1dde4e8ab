"""make_fasttext_classifier: a pipeline with fastText's words and n-grams, for save_fasttext."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sklearn_hashnlp._sklearn import Pipeline
from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers._net_classifier import ClassWeight
from sklearn_hashnlp.classifiers.hash_embedding._embedding_tables import EmbeddingTables
from sklearn_hashnlp.text._fasttext_vectorizer import FastTextVectorizer

SGD_LEARNING_RATE = 0.5  # of stochastic gradients; chosen on validation rows


def make_fasttext_classifier(
    *,
    word_ngrams: int = 1,
    bucket: int = 2_000_000,
    min_n: int = 0,
    max_n: int = 0,
    min_count: int = 1,
    loss: Literal["softmax", "ova"] = "softmax",
    solver: Literal["dual", "sgd"] = "dual",
    class_weight: ClassWeight = None,
    n_jobs: int | None = -1,
    random_state: int | np.random.RandomState | None = 0,
) -> Pipeline:
    """Build a classifier of texts in fastText's terms, for programs that read files of fastText.

    A pipeline of two steps: ``"vectorizer"`` counts the words of a dictionary and hashed n-grams,
    as fastText does, and ``"classifier"`` is a :class:`HashEmbeddingClassifier` whose scores
    fastText can compute. :func:`save_fasttext` writes it as a ``.bin`` file. The same texts give
    the same bytes, at any number of threads. Where no program reads such files,
    :func:`make_text_classifier` needs no dictionary.

    Parameters
    ----------
    word_ngrams : int, default=1
        Maximal length of word n-grams (fastText's ``wordNgrams``).
    bucket : int, default=2_000_000
        Number of rows for n-grams.
    min_n, max_n : int, default=0
        Minimal and maximal length of character n-grams (``minn`` and ``maxn``); none if ``max_n``
        is 0.
    min_count : int, default=1
        Words that occur less often are not in the dictionary (``minCount``).
    loss : {"softmax", "ova"}, default="softmax"
        ``"softmax"``: one label per text. ``"ova"``: any number of labels, each with its own
        probability; ``y`` has several labels per text, or is an indicator matrix.
    solver : {"dual", "sgd"}, default="dual"
        With ``loss="softmax"``. ``"dual"`` finds the optimum of a support vector machine; the file
        has a dimension for each label. ``"sgd"`` is stochastic gradient descent, which takes less
        memory for many texts or labels; the file has at most 32 dimensions up to 1,024 labels.
    class_weight : dict, "balanced" or None, default=None
        Weights of the labels in the loss.
    n_jobs : int or None, default=-1
        Number of threads; results do not depend on it.
    random_state : int, RandomState or None, default=0
        Seed of the order of the texts.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Steps ``"vectorizer"`` and ``"classifier"``; their other parameters can be set by
        ``set_params``.

    Raises
    ------
    ValueError
        If ``loss`` or ``solver`` is none of its values. The other parameters are checked in
        ``fit``.

    See Also
    --------
    save_fasttext : Write the fitted pipeline as a file.
    load_fasttext : Load a file of fastText.

    Notes
    -----
    Words are separated by whitespace, and keep their punctuation and capital letters: change the
    texts before, the same way in training and prediction, as for fastText.

    References
    ----------
    .. [1] Joulin, Grave, Bojanowski & Mikolov (2017). Bag of tricks for efficient text
           classification. EACL, arXiv:1607.01759.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import make_fasttext_classifier
    >>> texts = [
    ...     "a fine film",
    ...     "so dull",
    ...     "funny and fine",
    ...     "dull, and far too long",
    ... ]
    >>> labels = ["good", "bad", "good", "bad"]
    >>> model = make_fasttext_classifier(word_ngrams=2, bucket=1000)
    >>> model.fit(texts, labels).predict(["a fine and funny film"])
    array(['good'], dtype='<U4')
    """
    for name, value, known in (
        ("loss", loss, ("softmax", "ova")),
        ("solver", solver, ("dual", "sgd")),
    ):
        if value not in known:
            raise ValueError(
                f"The {name!r} parameter of make_fasttext_classifier must be one of {known}, got "
                f"{value!r}."
            )
    is_dual = loss == "softmax" and solver == "dual"
    vectorizer = FastTextVectorizer(
        word_ngrams=word_ngrams,
        bucket=bucket,
        min_n=min_n,
        max_n=max_n,
        min_count=min_count,
        n_jobs=n_jobs,
    )
    classifier = HashEmbeddingClassifier(
        variant="standard",
        embedding_dim="auto",
        embedding=EmbeddingTables(hash_rows=False),
        normalize="l1",
        loss="hinge" if is_dual else loss,
        solver=solver if is_dual else "sgd",
        class_weight=class_weight,
        calibrate="temperature",  # a file has no place for lengths
        learning_rate=0.2 if is_dual else SGD_LEARNING_RATE,
        random_state=random_state,
    )
    return Pipeline([("vectorizer", vectorizer), ("classifier", classifier)])
