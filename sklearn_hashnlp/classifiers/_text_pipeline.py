"""What a TextClassifier has inside: its pipeline, built, kept, saved and loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from itertools import chain, islice
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_hashnlp._sklearn import Pipeline, check_fitted
from sklearn_hashnlp.classifiers._base import ScoringClassifier
from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers._losses import Loss, LossName
from sklearn_hashnlp.classifiers._make_text_classifier import (
    build_pipeline,
    loaded_encoder,
    named_in_errors,
)
from sklearn_hashnlp.classifiers.hash_embedding._auto_parameters import SolverName
from sklearn_hashnlp.text._count_ngrams import check_ngram_range
from sklearn_hashnlp.text._documents import as_documents, plain_text
from sklearn_hashnlp.text._ngram_vector_union import NgramVectorUnion
from sklearn_hashnlp.text._text_vectorizer import with_n_jobs
from sklearn_hashnlp.training._check_unchanged import check_unchanged
from sklearn_hashnlp.training._estimator import HistoryTable
from sklearn_hashnlp.training._settings import HasBundles

if TYPE_CHECKING:  # torch is imported where a net is trained
    from sklearn_hashnlp.classifiers.hash_embedding._sparse_net import SparseNet


# scikit-learn has no types
class HoldsTextPipeline(ScoringClassifier, HasBundles):
    """A classifier of texts that holds a pipeline of a vectorizer and a classifier of rows."""

    # Parameters
    features: str
    lowercase: bool
    ngram_range: tuple[int, int]
    pretrained: Any
    n_jobs: int | None
    verbose: int
    # Attributes
    pipeline_: Pipeline
    _fitted_attribute: ClassVar[str] = "pipeline_"
    _fitted_features: dict[str, Any]

    @property
    def _loss(self) -> Loss:  # type: ignore[override]
        return self._fitted()._loss

    @property
    def _label_lists(self) -> bool:  # type: ignore[override]
        return self._fitted()._label_lists

    @property
    def loss_(self) -> LossName:
        """The name of the loss that was minimized."""
        return self._fitted().loss_

    @property
    def solver_(self) -> SolverName:
        """The solver that ran last."""
        return self._fitted().solver_

    @property
    def classes_(self) -> NDArray[Any]:  # type: ignore[override]
        """The labels."""
        return np.asarray(self.pipeline_[-1].classes_)

    @property
    def history_(self) -> list[dict[str, Any]]:
        """One entry per epoch or call of ``partial_fit``."""
        return HistoryTable(self.pipeline_[-1].history_)

    @property
    def n_parameters_(self) -> int:
        """Number of parameters of the net."""
        return int(self.pipeline_[-1].n_parameters_)

    @property
    def net_(self) -> SparseNet:
        """The trained net."""
        return self._fitted().net_

    def _new_pipeline(self, X: Any = None, unlabeled: Any = None) -> Pipeline:
        check_ngram_range(self.ngram_range, caller=type(self).__name__)
        parameters, encoders = self.get_params(deep=False), []
        if self.pretrained is not None:
            encoders.append(loaded_encoder(self.pretrained, self.n_jobs))
        if unlabeled is not None:
            name = type(self).__name__
            encoders.append(_encoder_of_texts(X, unlabeled, self.n_jobs, caller=name))
            if self.verbose:
                print(f"{name}: learned the vectors of {len(encoders[-1].coef_):,} words")
        return build_pipeline(parameters, encoders, caller=type(self).__name__)

    def _check_parameters(self) -> None:
        """Check the parameters of the classifier inside, and its combinations with others."""
        with named_in_errors(self):
            self._new_pipeline()[-1].check_parameters()

    def _updated_pipeline(self) -> Pipeline:
        """Return the fitted pipeline with the current training parameters, to continue training."""
        pipeline = self.pipeline_
        check_unchanged(self, self._features(), self._fitted_features)
        self._check_pretrained()
        pipeline[-1].set_params(**self._new_pipeline()[-1].get_params(deep=False))
        return pipeline

    def _check_pretrained(self) -> None:
        fitted = self._fitted_features["pretrained"]
        if fitted is not self.pretrained and fitted != self.pretrained:
            raise ValueError(
                f"{type(self).__name__}: pretrained was changed after fit. Set it back, or fit "
                "anew."
            )

    def _keep(self, pipeline: Pipeline) -> None:
        """Keep the pipeline if it is fitted, also after an interrupt."""
        if hasattr(pipeline[-1], "classes_"):
            self.pipeline_ = pipeline
            self._fitted_features = self._features() | {"pretrained": self.pretrained}

    def _features(self) -> dict[str, Any]:
        """Return the parameters that the features depend on."""
        return {
            "features": self.features,
            "lowercase": self.lowercase,
            "ngram_range": tuple(self.ngram_range),
        }

    def _fitted(self) -> HashEmbeddingClassifier:
        check_fitted(self, "pipeline_")
        classifier: HashEmbeddingClassifier = self.pipeline_.steps[-1][1]
        return classifier

    def _rows(self, X: Any, pipeline: Pipeline | None = None) -> Any:
        return self._count(with_n_jobs((pipeline or self.pipeline_)[0], self.n_jobs).transform, X)

    def _count(self, transform: Callable[[Any], Any], X: Any) -> Any:
        """Return the n-gram counts of texts."""
        # a frame cannot hold a sparse matrix
        with named_in_errors(self), config_context(transform_output="default"):
            return transform(as_documents(X, caller=type(self).__name__))

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        self._check_pretrained()
        features = {name: self._fitted_features[name] for name in self._features()}
        return {"features": features} | _saved_state(self.pipeline_, self.pretrained), {}

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        fitted = dict(values["features"], pretrained=self.pretrained)
        self.pipeline_ = _loaded_pipeline(values, self.pretrained)
        self._fitted_features = fitted | {"ngram_range": tuple(fitted["ngram_range"])}

    def __sklearn_clone__(self) -> Self:
        without = copy(self)
        without.pretrained = None
        cloned: Self = super(HoldsTextPipeline, without).__sklearn_clone__()
        cloned.pretrained = self.pretrained  # fitted, as it is
        return cloned

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, without the parameters of ``pretrained``, which clones share.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the parameters of nested estimators, too.

        Returns
        -------
        dict of str to object
            Parameters by their names.
        """
        parameters = super().get_params(deep=deep)
        return {
            name: value for name, value in parameters.items() if not name.startswith("pretrained__")
        }


def _encoder_of_texts(texts: Any, unlabeled: Any, n_jobs: int | None, *, caller: str) -> Any:
    """Learn an encoder from texts without labels: those of a file or iterable, and others."""
    from sklearn_hashnlp.datasets import TextReader
    from sklearn_hashnlp.sentences import CooccurrenceEncoder

    name = f"{caller}.fit, unlabeled"
    if isinstance(unlabeled, str | PathLike):
        unlabeled = (row.text for row in TextReader(unlabeled))
    others = _checked(as_documents(unlabeled, caller=name), name)
    first = list(islice(others, 1))
    if not first:
        raise ValueError(
            f"{name}: there are no texts. Pass a list or a file: an iterator can be read only "
            "once, in a cross-validation by the first fit."
        )
    try:
        return CooccurrenceEncoder(n_jobs=n_jobs).fit(chain(_checked(texts, caller), first, others))
    except ValueError as error:
        raise ValueError(f"{caller}.fit, X and unlabeled: {error}") from error


def _checked(texts: Iterable[Any], caller: str) -> Iterator[str]:
    """Yield texts, or raise an error that names the caller."""
    return (
        plain_text(text, position=position, caller=caller) for position, text in enumerate(texts)
    )


def _saved_state(pipeline: Pipeline, pretrained: Any) -> dict[str, Any]:
    """Return what to save of a fitted pipeline, without a given encoder, which is a parameter."""
    vectorizer = pipeline[0]
    if not isinstance(vectorizer, NgramVectorUnion):
        return {"pipeline": pipeline}
    counts = Pipeline([("vectorizer", vectorizer.vectorizer_), pipeline.steps[-1]])
    encoders = [encoder.estimator for encoder in vectorizer.encoders]
    return {
        "pipeline": counts,
        "encoders": encoders[_is_given(pretrained) :],
        "union": {"norm_ratio": vectorizer.norm_ratio_, "weight": vectorizer.weight_},
    }


def _loaded_pipeline(values: Mapping[str, Any], pretrained: Any) -> Pipeline:
    """Load what :func:`_saved_state` returned."""
    pipeline: Pipeline = values["pipeline"]
    is_pair = (
        isinstance(pipeline, Pipeline) and len(pipeline) == 2 and hasattr(pipeline[0], "transform")
    )
    if not is_pair or not isinstance(pipeline[-1], HashEmbeddingClassifier):
        raise ValueError(
            "The pipeline of a TextClassifier must be a vectorizer and a HashEmbeddingClassifier."
        )
    if "union" not in values:
        return pipeline
    encoders = [pretrained] * _is_given(pretrained) + list(values["encoders"])
    union = NgramVectorUnion(clone(pipeline[0]), list(map(FrozenEstimator, encoders)))
    union._set_model_state({"vectorizer": pipeline[0], **values["union"]}, {})
    return Pipeline([("vectorizer", union), pipeline.steps[-1]])


def _is_given(pretrained: Any) -> bool:
    """Return whether the parameter is an encoder, not the name of one."""
    return pretrained is not None and not isinstance(pretrained, str)
