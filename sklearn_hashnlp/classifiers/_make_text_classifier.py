"""make_text_classifier: a pipeline from strings to labels, and what is saved of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import signature
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion

from sklearn_hashnlp._device import Device
from sklearn_hashnlp._sklearn import Pipeline
from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers._losses import LossChoice
from sklearn_hashnlp.classifiers._net_classifier import ClassWeight, Monitor
from sklearn_hashnlp.classifiers.hash_embedding._auto_parameters import SolverChoice
from sklearn_hashnlp.sentences._pretrained_weights import PretrainedName
from sklearn_hashnlp.text import AutoNgramVectorizer, HashingNgramVectorizer
from sklearn_hashnlp.text._count_ngrams import TOKENS
from sklearn_hashnlp.text._ngram_vector_union import NgramVectorUnion
from sklearn_hashnlp.training._settings import EarlyStopping

Features: TypeAlias = Literal["auto", "words", "words+characters", "characters"]

_N_COLUMNS = 2**30  # leaves room for other columns


def make_text_classifier(
    *,
    features: Features = "auto",
    lowercase: bool = True,
    ngram_range: tuple[int, int] = (1, 2),
    pretrained: PretrainedName | Any = None,
    n_buckets: int = 2**20,
    n_hashes: int = 1,
    n_embeddings: int = 2**20,
    embedding_dim: int | Literal["auto"] = "auto",
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
    """Build a classifier that takes raw strings, with good default parameters.

    A pipeline of two steps: ``"vectorizer"`` counts n-grams, and ``"classifier"`` is a
    :class:`HashEmbeddingClassifier`. :class:`TextClassifier` is the same as one estimator.

    Parameters
    ----------
    features, lowercase, ngram_range, pretrained, n_buckets, n_hashes, n_embeddings, \
            embedding_dim, loss, solver, class_weight, learning_rate, max_epochs, \
            early_stopping, classifier, device, n_jobs, random_state, verbose
        See :class:`TextClassifier`.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Steps ``"vectorizer"`` and ``"classifier"``; their other parameters can be set by
        ``set_params``. For estimators of scikit-learn that store a number per column, do not take
        this vectorizer with its ``2**30`` columns, but ``AutoNgramVectorizer(n_features=2**18)``.

    Raises
    ------
    ValueError
        If ``features`` is none of the four. The other parameters are checked in ``fit``.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import make_text_classifier
    >>> texts = [
    ...     "a fine, funny film",
    ...     "dull and far too long",
    ...     "funny and fine acting",
    ...     "too dull to sit through",
    ... ]
    >>> labels = ["good", "bad", "good", "bad"]
    >>> model = make_text_classifier(random_state=0).fit(texts, labels)
    >>> model.predict(["fine and funny", "so dull"])
    array(['good', 'bad'], dtype='<U4')
    """
    parameters = dict(locals())
    encoders = [] if pretrained is None else [loaded_encoder(pretrained, n_jobs)]
    return build_pipeline(parameters, encoders)


MODEL_PARAMETERS: Final = (
    "n_buckets",
    "n_hashes",
    "n_embeddings",
    "embedding_dim",
    "loss",
    "solver",
    "class_weight",
    "learning_rate",
    "max_epochs",
    "early_stopping",
)
"""Parameters of the model, which must have their defaults if ``classifier`` is given."""
_PASSED_ON = ("device", "random_state", "verbose")


def build_pipeline(
    parameters: Mapping[str, Any],
    encoders: Sequence[Any] = (),  # fitted ones, whose vectors become columns
    *,
    caller: str = "make_text_classifier",
) -> Pipeline:
    """Build the pipeline of :func:`make_text_classifier` from all of its parameters."""
    vectorizer = build_vectorizer(parameters, caller=caller)
    if encoders:
        vectorizer = NgramVectorUnion(vectorizer, list(map(FrozenEstimator, encoders)))
    return Pipeline([("vectorizer", vectorizer), ("classifier", _classifier(parameters, caller))])


def build_vectorizer(parameters: Mapping[str, Any], *, caller: str) -> Any:
    """Build the vectorizer of texts from the parameters that it has."""
    features, ngram_range = parameters["features"], tuple(parameters["ngram_range"])
    options = {"lowercase": parameters["lowercase"], "n_jobs": parameters["n_jobs"]}
    counts: dict[str, Any] = {
        "alternate_sign": False,  # signs cancel collisions, which are rare with so many columns
        "norm": None,  # the classifier normalizes itself, with importance weights
        "dtype": np.float32,
    }
    count_words = partial(
        HashingNgramVectorizer, token_pattern=TOKENS, ngram_range=ngram_range, **options, **counts
    )
    count_characters = partial(HashingNgramVectorizer, analyzer="char_wb", **options, **counts)
    if features == "auto":
        return AutoNgramVectorizer(ngram_range=ngram_range, n_features=_N_COLUMNS, **options)
    if features == "words":
        return count_words(n_features=_N_COLUMNS)
    if features == "characters":
        return count_characters(ngram_range=(1, 4), n_features=_N_COLUMNS)
    if features == "words+characters":
        parts = [
            ("words", count_words(n_features=_N_COLUMNS // 2)),
            ("characters", count_characters(ngram_range=(2, 5), n_features=_N_COLUMNS // 2)),
        ]
        return FeatureUnion(parts, transformer_weights={"words": 1.0, "characters": 0.5})
    raise ValueError(
        f"The 'features' parameter of {caller} must be 'auto', 'words', 'words+characters' or "
        f"'characters'. Got {features!r} instead."
    )


def _classifier(parameters: Mapping[str, Any], caller: str) -> HashEmbeddingClassifier:
    """Return a new classifier, or a clone of the given one."""
    given: HashEmbeddingClassifier | None = parameters["classifier"]
    passed_on = {name: parameters[name] for name in _PASSED_ON}
    if given is None:
        own = {name: parameters[name] for name in MODEL_PARAMETERS}
        own["early_stopping"] = clone(own["early_stopping"], safe=False)
        return HashEmbeddingClassifier(**own, **passed_on)
    of_function = signature(make_text_classifier).parameters
    for name in MODEL_PARAMETERS:
        if parameters[name] != of_function[name].default:
            raise ValueError(
                f"{caller} takes {name}={parameters[name]!r} or a classifier, not both: set "
                f"{name!r} of the classifier."
            )
    defaults = HashEmbeddingClassifier().get_params(deep=False)
    set_there = given.get_params(deep=False)
    classifier: HashEmbeddingClassifier = clone(given)
    return classifier.set_params(
        **{name: passed_on[name] for name in _PASSED_ON if set_there[name] == defaults[name]}
    )


@contextmanager
def named_in_errors(estimator: Any) -> Iterator[None]:
    """Name an estimator and its arguments in errors of its parts that the user has not made."""
    try:
        yield
    except Exception as error:
        parts = ["(Auto|Hashing)NgramVectorizer(?= expects|: document)"]
        parts += [HashEmbeddingClassifier.__name__] * (estimator.classifier is None)
        changes = {
            "|".join(parts): type(estimator).__name__,
            r" \(shape=\(0, \d+\)\)": "",  # of the counts of no texts
            r"(inconsistent numbers of samples: \[\d+, \d+\])$": r"\1 in X and y",
        }
        for old, new in changes.items():
            error.args = tuple(
                re.sub(old, new, arg) if isinstance(arg, str) else arg for arg in error.args
            )
        raise


def loaded_encoder(pretrained: Any, n_jobs: int | None) -> Any:
    """Return the encoder of the parameter ``pretrained``, which may be the name of weights."""
    if not isinstance(pretrained, str):
        return pretrained
    from sklearn_hashnlp.sentences import load_pretrained  # only here: it takes time

    encoder = load_pretrained(pretrained)  # type: ignore[arg-type]  # it checks the name
    return encoder.set_params(n_jobs=n_jobs)
