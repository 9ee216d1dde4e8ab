"""merge_classifiers: one classifier from several that were trained on parts of the data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any, Final, TypeVar

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers._text_classifier import TextClassifier
from sklearn_hashnlp.classifiers.merging._merge_weights import merge_models
from sklearn_hashnlp.persistence._values import short
from sklearn_hashnlp.text._ngram_vector_union import NgramVectorUnion
from sklearn_hashnlp.trees import SoftmaxTree

Model = TypeVar("Model", HashEmbeddingClassifier, TextClassifier, Pipeline)

# They may differ: the hash functions that random_state draws are compared instead.
_FREE: Final = frozenset({"random_state", "device", "verbose", "callbacks", "n_jobs", "memory"})
# Outside these bounds, sums of squares in float32 and row counts in 64 bits lose precision.
_MIN_WEIGHT, _MAX_WEIGHT = 1e-6, 1e6
_NOT_USED_BY_TRANSFORM: Final = frozenset({"unseen_share_"})


def merge_classifiers(models: Iterable[Model], weights: ArrayLike | None = None) -> Model:
    """Merge classifiers that were trained on parts of the data into one.

    Each row of the tables is the mean of the models' rows, weighted by the squares of gradients
    that AdaGrad has accumulated for it: a model counts for an n-gram as much as it has learned
    about it [1]_. Rows that no model has trained keep their initial values. The output layer (and
    hidden layers) is the mean weighted by the number of training rows. Document frequencies are
    added; the importance weights are multiplied by the ratio of the merged inverse document
    frequency to the model's own.

    Parameters
    ----------
    models : iterable of HashEmbeddingClassifier, of TextClassifier, or of Pipeline
        Fitted models of one kind and with the same parameters, labels and ``random_state``, an int;
        pipelines must end in a HashEmbeddingClassifier. They are not modified.
    weights : array-like of shape (n_models,), default=None
        Factors of the models' accumulated squares, numbers of rows and document frequencies, from
        1e-6 to 1e6. None is 1: the models were trained on different rows. With 1 / n_models models
        that were trained on the same rows count as one.

    Returns
    -------
    HashEmbeddingClassifier, TextClassifier or Pipeline
        A fitted model of the same kind, with the parameters of the first one. It predicts, can be
        saved, and continues by ``partial_fit`` with the learning rates of a model that has seen all
        rows. ``history_`` joins the models' histories; ``temperature_`` is the geometric mean of
        theirs, weighted by the number of rows.

    Raises
    ------
    ValueError
        If there are no models; if ``weights`` are not one for each model, from 1e-6 to 1e6; if
        parameters, hash functions, labels, columns or trees differ, or what the steps before the
        classifier have learned from their texts; or if a model has no accumulated squares: it was
        trained by dual coordinate descent or with ``optimizer="adam"``, or loaded from a folder
        without its training state.
    TypeError
        If the models are of other or of different classes, or ``models`` is a single model.

    See Also
    --------
    sklearn_hashnlp.save_model : ``training_state=True`` saves the state that merging needs.

    Notes
    -----
    Up to rounding the result depends neither on the order of the models nor on whether parts of
    them were merged before, so that many models can be merged in pairs, as by a tree reduction.

    Models that continued the training of one merged model have its rows and squares in common,
    which are then counted once per model: give such models equal ``weights`` of 1 / n_models.

    References
    ----------
    .. [1] McMahan et al. (2017). Communication-efficient learning of deep networks from
           decentralized data. AISTATS, arXiv:1602.05629 (the mean of models from the same initial
           weights, weighted by the number of rows).

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import (
    ...     TextClassifier,
    ...     merge_classifiers,
    ... )
    >>> parts = [
    ...     (["a fine film", "too dull"], ["good", "bad"]),
    ...     (["a funny film", "too long"], ["good", "bad"]),
    ... ]
    >>> models = [
    ...     TextClassifier(max_epochs=9, random_state=0).fit(texts, labels)
    ...     for texts, labels in parts
    ... ]
    >>> model = merge_classifiers(models)
    >>> model.predict(["fine and funny", "dull and long"])
    array(['good', 'bad'], dtype='<U4')
    """
    if hasattr(models, "get_params"):  # a pipeline would be taken for its steps
        raise TypeError(f"merge_classifiers needs a list of models, got a {type(models).__name__}.")
    models = list(models)
    if not models:
        raise ValueError("merge_classifiers needs at least one model, got none.")
    factors = _check_weights(weights, len(models))
    classifiers = [_classifier_of(model) for model in models]
    for index, (model, classifier) in enumerate(zip(models, classifiers, strict=True)):
        if type(model) is not type(models[0]):
            raise TypeError(
                "merge_classifiers needs models of one class: model 0 is a "
                f"{type(models[0]).__name__}, model {index} a {type(model).__name__}."
            )
        for name, first, other in _differences(models[0], model):
            if name.startswith("encoders of ") or f" of {NgramVectorUnion.__name__}," in name:
                raise ValueError(
                    "merge_classifiers needs models with the same vectors of texts, and those of "
                    f"models 0 and {index} are of different encoders or of different lengths, "
                    "which depend on the texts of fit. Fit one model, continue copies of it by "
                    "partial_fit on parts of the data, and merge these."
                )
            raise ValueError(
                f"merge_classifiers needs models that agree: {name} is {short(first)} in model 0 "
                f"and {short(other)} in model {index}."
            )
        _check_trained(classifier, index)
    # A large encoder is shared, as by clones, and callbacks, which may hold files.
    shared = [getattr(models[0], "pretrained", None), classifiers[0].callbacks]
    result = deepcopy(models[0], {id(value): value for value in shared})
    merged, parts = _classifier_of(result), [classifier._model for classifier in classifiers]
    divisors = [classifier._idf_divisor or 1.0 for classifier in classifiers]
    merged._idf_divisor = (
        merge_models(merged._model, parts, factors, divisors) or merged._idf_divisor
    )
    history = [entry for classifier in classifiers for entry in classifier.history_]
    merged._keep_model(
        merged._model, [entry | {"epoch": epoch} for epoch, entry in enumerate(history, start=1)]
    )
    return result


def _check_weights(weights: ArrayLike | None, n_models: int) -> NDArray[np.float64]:
    try:
        factors = np.ones(n_models) if weights is None else np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        factors = np.empty(0)
    if (
        factors.shape != (n_models,)
        or not ((factors >= _MIN_WEIGHT) & (factors <= _MAX_WEIGHT)).all()
    ):
        raise ValueError(
            f"merge_classifiers needs a weight from {_MIN_WEIGHT:g} to {_MAX_WEIGHT:g} for each of "
            f"{n_models} models, got {weights!r}."
        )
    return factors


def _classifier_of(model: Any) -> HashEmbeddingClassifier:
    """Return the fitted HashEmbeddingClassifier that a model is or ends in."""
    last = model
    if isinstance(model, TextClassifier):
        check_is_fitted(model)
        last = model.pipeline_[-1]
    elif isinstance(model, Pipeline):
        last = model[-1]
    if type(last) is not HashEmbeddingClassifier:
        within = "" if last is model else f" that ends in a {type(last).__name__}"
        raise TypeError(
            "merge_classifiers needs HashEmbeddingClassifiers, TextClassifiers, or pipelines that "
            f"end in a HashEmbeddingClassifier, got a {type(model).__name__}{within}."
        )
    check_is_fitted(last)
    return last


def _differences(first: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name and both values of everything that differs between two models and must not."""
    yield from _different_parameters(first, other)
    for step, (one, two) in enumerate(zip(_steps(first), _steps(other), strict=False)):
        for name, a, b in _different_parameters(one, two):
            yield f"{name} of step {step}", a, b
        learned, others = _learned(one), _learned(two)
        for name in sorted({*learned, *others}):
            if joblib.hash(learned.get(name)) != joblib.hash(others.get(name)):
                label = f"{name} of {type(one).__name__}, which depends on the training texts,"
                yield label, learned.get(name), others.get(name)
    yield from _different_classifiers(_classifier_of(first), _classifier_of(other))


def _steps(model: Any) -> list[Any]:
    pipeline = model.pipeline_ if isinstance(model, TextClassifier) else model
    return [step for _, step in pipeline.steps[:-1]] if isinstance(pipeline, Pipeline) else []


def _different_parameters(one: Any, two: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield different parameters; nested estimators and pretrained encoders are not compared."""
    mine, others = ({"class": type(model).__name__} | model.get_params() for model in (one, two))
    for name in sorted({*mine, *others}):
        a, b = mine.get(name), others.get(name)
        is_nested = any(
            hasattr(value, "get_params") or name in ("steps", "transformer_list")
            for value in (a, b)
        )
        if not is_nested and name.rpartition("__")[2] not in _FREE and not _are_same(a, b):
            yield name, a, b


def _learned(step: Any) -> dict[str, Any]:
    """Return the learned attributes of a step and of the estimators within it."""
    parts = {"": step} | {
        name: part for name, part in step.get_params().items() if hasattr(part, "get_params")
    }
    return {
        f"{name}__{attribute}".removeprefix("__"): value
        for name, part in parts.items()
        for attribute, value in vars(part).items()
        if attribute.endswith("_")
        and not attribute.startswith("_")
        and attribute not in _NOT_USED_BY_TRANSFORM
    }


def _different_classifiers(
    one: HashEmbeddingClassifier, two: HashEmbeddingClassifier
) -> Iterator[tuple[str, Any, Any]]:
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        a, b = getattr(one, name, None), getattr(two, name, None)
        if not _are_same(a, b):
            yield name, a, b
    mine, others = one._model.architecture, two._model.architecture
    for name in sorted(mine):
        if mine[name] != others[name]:
            label = (
                "the seed of the hash functions, which random_state draws,"
                if name == "hash_seed"
                else name
            )
            yield label, mine[name], others[name]
    a, b = (f"{model._loss.name}, {_kind_of_labels(model)}" for model in (one, two))
    if a != b:
        yield "the loss", a, b
    a, b = (model._model.tree for model in (one, two))
    if not _are_same(a, b):
        yield (
            "the tree of classes, which fit builds by the frequencies of the labels and "
            "partial_fit does not,",
            a,
            b,
        )


def _kind_of_labels(model: HashEmbeddingClassifier) -> str:
    if not model._loss.multilabel:
        return "one label per row"
    return "lists of labels" if model._label_lists else "an indicator matrix"


def _are_same(one: Any, two: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return one.dtype.kind == two.dtype.kind and np.array_equal(one, two)
    if isinstance(one, SoftmaxTree) or isinstance(two, SoftmaxTree):
        return bool(type(one) is type(two) and one == two)
    return bool(joblib.hash(_plain(one)) == joblib.hash(_plain(two)))


def _plain(value: Any) -> Any:
    """Convert lists to tuples and numpy's numbers to Python's, to compare parameters."""
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    return value.item() if isinstance(value, np.generic) else value


def _check_trained(classifier: HashEmbeddingClassifier, index: int) -> None:
    """Check that a model has the accumulated squares of all of its training."""
    optimizer = classifier._model.optimizer
    if classifier.solver_ == "dual":
        raise ValueError(
            f"merge_classifiers cannot merge model {index}: it was trained by dual coordinate "
            "descent, without accumulated squares of gradients. Train on all of these rows "
            "together, or set solver='sgd'."
        )
    if optimizer is None or not classifier._model.has_training_state:
        raise ValueError(
            f"merge_classifiers cannot merge model {index}: it was loaded without its training "
            "state. Save it by save_model(model, folder, training_state=True), or merge before "
            "saving."
        )
    if optimizer.optimizer != "adagrad":
        raise ValueError(
            f"merge_classifiers cannot merge model {index}: it was trained with "
            f"optimizer={classifier.optimizer!r}, which does not accumulate squares of gradients. "
            "Train with optimizer='adagrad'."
        )
    if (
        classifier._tables().importance_init == "idf"
        and classifier.variant != "standard"
        and classifier._model.frequencies is None
    ):
        raise ValueError(
            f"merge_classifiers cannot merge model {index}: it has no document frequencies, since "
            "part of its training was by dual coordinate descent, or its training state was not "
            "saved. Train it again."
        )
