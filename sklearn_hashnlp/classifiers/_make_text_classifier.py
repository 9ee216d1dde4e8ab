"""make_text_classifier: a pipeline from strings to labels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from inspect import signature
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion

from sklearn_hashnlp._sklearn import Pipeline
from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers._losses import LossChoice
from sklearn_hashnlp.classifiers._parameters import ClassWeight, Monitor
from sklearn_hashnlp.classifiers.hash_embedding._automatic import SolverChoice
from sklearn_hashnlp.text import AutoNgramVectorizer, HashingNgramVectorizer
from sklearn_hashnlp.text._count_ngrams import TOKENS
from sklearn_hashnlp.text._ngram_vector_union import NgramVectorUnion
from sklearn_hashnlp.training._settings import Device, EarlyStopping

Features: TypeAlias = Literal["auto", "words", "words+characters", "characters"]

_N_COLUMNS = 2**30  # with room for other columns beside them


def make_text_classifier(
    *,
    features: Features = "auto",
    lowercase: bool = True,
    ngram_range: tuple[int, int] = (1, 2),
    pretrained: Any = None,
    n_buckets: int = 2**20,
    n_hashes: int = 1,
    n_embeddings: int = 2**20,
    embedding_dim: int | Literal["auto"] = "auto",
    hidden_layer_sizes: tuple[int, ...] | list[int] = (),
    loss: LossChoice = "auto",
    solver: SolverChoice = "auto",
    class_weight: ClassWeight = None,
    learning_rate: float = 0.2,
    max_epochs: int | Literal["auto"] = "auto",
    early_stopping: Literal[False] | Monitor | EarlyStopping = False,
    classifier: HashEmbeddingClassifier | None = None,
    device: Device = "cpu",
    n_jobs: int | None = -1,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
) -> Pipeline:
    r"""Build a classifier that takes raw strings, with good default parameters.

    A pipeline of two steps. ``"vectorizer"`` counts n-grams. ``"classifier"`` is a :class:`HashEmbeddingClassifier`.
    :class:`TextClassifier` is the same as one estimator.

    Parameters
    ----------
    features : {"auto", "words", "words+characters", "characters"}, default="auto"
        - ``"auto"``: an :class:`~sklearn_hashnlp.text.AutoNgramVectorizer`, which counts n-grams of words, and of
          characters too if the training texts are few or many of their words are new; it dampens counts and marks the
          beginning and the end of a text. A first ``partial_fit`` counts words only.
        - ``"words"``: a :class:`~sklearn_hashnlp.text.HashingNgramVectorizer` of word unigrams and bigrams. Tokens are
          also punctuation and words of one character (``token_pattern=r"\w+|[^\w\s]"``), important in short texts.
        - ``"words+characters"``: a :class:`~sklearn.pipeline.FeatureUnion` of that (``"words"``) and of n-grams of 2 to
          5 characters within words (``"characters"``), with half the weight.
        - ``"characters"``: only n-grams of 1 to 4 characters within words. They take more time and are more accurate
          where words are rare, misspelled or inflected, or for language identification.
    lowercase : bool, default=True
        Whether to convert texts to lowercase before counting n-grams. False distinguishes uppercase from lowercase,
        which helps where names matter.
    ngram_range : (int, int), default=(1, 2)
        Minimal and maximal number of words of an n-gram; ignored with ``features="characters"``.
    pretrained : fitted transformer or None, default=None
        Turns texts into vectors, which become columns beside the n-grams: a
        :class:`~sklearn_hashnlp.sentences.SGNNSentenceEncoder` that was trained on other texts, without labels, or any
        scikit-learn transformer that returns a dense array. It is not fitted again. It helps where labeled texts are
        few.
    n_buckets : int, default=2**20
        Number of vectors in the shared pool: fewer make a smaller model.
    n_hashes : int, default=1
        Number of component vectors per n-gram. With a pool of this size more than one takes time without improving the
        accuracy; with a small pool it may help.
    n_embeddings : int, default=2**20
        Number of rows of the importance table.
    embedding_dim : int or "auto", default="auto"
        Dimension of the embeddings; ``"auto"`` depends on the number of classes.
    loss : {"auto", "softmax", "ova", "hinge", "hsigmoid"}, default="auto"
        Loss function. ``"auto"``: the squared hinge loss with few rows, else cross-entropy, or ``"ova"``
        with several labels per text. ``"softmax"``: cross-entropy; ``"ova"``, one-vs-rest cross-entropy, also for
        multi-label classification; ``"hinge"``, one-vs-rest squared hinge loss; or ``"hsigmoid"``, hierarchical
        softmax, which is faster with many thousands of classes.
    solver : {"auto", "dual", "sgd"}, default="auto"
        How the loss is minimized: by dual coordinate descent, or by epochs of stochastic gradients, see
        :class:`HashEmbeddingClassifier`.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the loss.
    learning_rate : float, default=0.2
        Learning rate; without effect where ``loss="auto"`` minimizes the squared hinge loss.
    max_epochs : int or "auto", default="auto"
        Number of epochs of stochastic gradients, which an integer asks for also with few documents; ``"auto"`` is 20
        with ``early_stopping``, else 2, but 1 from 20,000 documents on.
    early_stopping : False, "valid_acc", "valid_loss" or EarlyStopping, default=False
        Whether a validation set decides when training stops, see :class:`TextClassifier`.
    hidden_layer_sizes : tuple of int, default=()
        Sizes of the hidden layers between document vector and output.
    classifier : HashEmbeddingClassifier or None, default=None
        A classifier of rows with other parameters, see :class:`TextClassifier`.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Device to train and predict on.
    n_jobs : int or None, default=-1
        Number of threads of the vectorizer; -1 is one per processor, None is one. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the training. On a CPU the same int gives the same model bit for bit.
    verbose : int, default=0
        0 prints nothing, 1 a line per epoch, 2 and 3 more.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Steps ``"vectorizer"`` and ``"classifier"``; their other parameters can be set by ``set_params``. For estimators
        of scikit-learn that store a number per column, do not take this vectorizer with its ``2**30`` columns, but
        ``AutoNgramVectorizer(n_features=2**18)``.

    See Also
    --------
    TextClassifier : The same as one estimator, whose parameters a grid search sets by their own names.
    HashEmbeddingClassifier : The classifier, with all parameters.
    sklearn_hashnlp.text.HashingNgramVectorizer : The vectorizer.

    Raises
    ------
    ValueError
        If ``features`` is none of the four. The other parameters are checked in ``fit``.

    Notes
    -----
    N-grams are hashed to ``2**30`` columns, words and characters together to ``2**29`` each.

    The defaults were chosen on validation sets from the training rows of AG News, IMDB, SST-2, TREC and the standard
    library's docstrings, those for few rows on all sets of the README. On other data with 20,000 rows and more tune
    ``learning_rate``, ``batch_size`` and ``max_epochs`` first.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import make_text_classifier
    >>> texts = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through"]
    >>> model = make_text_classifier(random_state=0).fit(texts, ["good", "bad", "good", "bad"])
    >>> model.predict(["fine and funny", "so dull"])
    array(['good', 'bad'], dtype='<U4')
    """
    return build_pipeline(dict(locals()))


MODEL_PARAMETERS: Final = (
    *("n_buckets", "n_hashes", "n_embeddings", "embedding_dim", "hidden_layer_sizes", "loss", "solver", "class_weight"),
    *("learning_rate", "max_epochs", "early_stopping"),
)
"""The parameters of the model, which must have their defaults if there is a classifier."""
_PASSED_ON = ("device", "random_state", "verbose")


def build_pipeline(parameters: Mapping[str, Any], *, caller: str = "make_text_classifier") -> Pipeline:
    """Build the pipeline of :func:`make_text_classifier` from all of its parameters."""
    features, ngram_range, pretrained = (
        parameters["features"],
        tuple(parameters["ngram_range"]),
        parameters["pretrained"],
    )
    options = {"lowercase": parameters["lowercase"], "n_jobs": parameters["n_jobs"]}
    counts: dict[str, Any] = {
        "alternate_sign": False,  # signs cancel collisions, which are rare with so many columns
        "norm": None,  # the classifier normalizes itself, with importance weights
        "dtype": np.float32,
    }
    count_words = partial(HashingNgramVectorizer, token_pattern=TOKENS, ngram_range=ngram_range, **options, **counts)
    count_characters = partial(HashingNgramVectorizer, analyzer="char_wb", **options, **counts)
    if features == "auto":
        vectorizer: Any = AutoNgramVectorizer(ngram_range=ngram_range, n_features=_N_COLUMNS, **options)
    elif features == "words":
        vectorizer = count_words(n_features=_N_COLUMNS)
    elif features == "characters":
        vectorizer = count_characters(ngram_range=(1, 4), n_features=_N_COLUMNS)
    elif features == "words+characters":
        parts = [
            ("words", count_words(n_features=_N_COLUMNS // 2)),
            ("characters", count_characters(ngram_range=(2, 5), n_features=_N_COLUMNS // 2)),
        ]
        vectorizer = FeatureUnion(parts, transformer_weights={"words": 1.0, "characters": 0.5})
    else:
        raise ValueError(
            "The 'features' parameter of make_text_classifier must be 'auto', 'words', 'words+characters' or "
            f"'characters'. Got {features!r} instead."
        )
    if pretrained is not None:
        vectorizer = NgramVectorUnion(vectorizer, FrozenEstimator(pretrained))
    return Pipeline([("vectorizer", vectorizer), ("classifier", _classifier(parameters, caller))])


def _classifier(parameters: Mapping[str, Any], caller: str) -> HashEmbeddingClassifier:
    """Return the classifier by the parameters of the model, or a clone of the one that is given."""
    given: HashEmbeddingClassifier | None = parameters["classifier"]
    passed_on = {name: parameters[name] for name in _PASSED_ON}
    if given is None:
        own = {name: parameters[name] for name in MODEL_PARAMETERS}
        own["early_stopping"] = clone(own["early_stopping"], safe=False)
        return HashEmbeddingClassifier(**own, **passed_on)
    usual = {name: parameter.default for name, parameter in signature(make_text_classifier).parameters.items()}
    for name in MODEL_PARAMETERS:
        if parameters[name] != usual[name]:
            raise ValueError(
                f"{caller} takes {name}={parameters[name]!r} or a classifier, not both: set {name!r} of the classifier."
            )
    defaults = HashEmbeddingClassifier().get_params(deep=False)
    set_there = given.get_params(deep=False)
    classifier: HashEmbeddingClassifier = clone(given)
    return classifier.set_params(**{name: passed_on[name] for name in _PASSED_ON if set_there[name] == defaults[name]})
