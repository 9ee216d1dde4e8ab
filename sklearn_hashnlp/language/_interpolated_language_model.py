"""InterpolatedLanguageModel: a mixture of language models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sklearn_hashnlp._sklearn import Interval, StrOptions, fit_context, name_estimators
from sklearn_hashnlp.language._base_language_model import BaseLanguageModel, draw_columns
from sklearn_hashnlp.language._corpus import Sentences, SpecialTokens, read_training_corpus
from sklearn_hashnlp.language._mixture import (
    ContextBins,
    Members,
    MixedText,
    em_weights_by_bin,
    interpolate,
)

_MAX_CONTEXT_LENGTH = 8


class InterpolatedLanguageModel(BaseLanguageModel):
    """Mix the probabilities of several language models.

    The probability of a word is the weighted sum of the models' probabilities. The weights maximize
    the likelihood of a validation text, by expectation maximization [1]_. Models with different
    errors gain most: a network, n-gram counts, and a cache of the recent words.

    Parameters
    ----------
    models : list of language models
        Models that predict every word of a sentence (``padding="full"``), with the same words;
        their orders and word ids may differ.
    weights : {"em", "equal"} or list of float, default="em"
        ``"em"`` learns the weights on validation text; ``"equal"`` weights all models equally. A
        list has a weight for each model, and its sum must be 1.
    frequency_bins : bool, default=False
        Whether to learn weights for each bin of contexts, by the logarithm of their relative
        frequency in the training text [2]_. For example, an n-gram model may get a large weight
        after frequent contexts. Only with ``weights="em"``.
    context_length : int, default=2
        Number of words in the contexts of ``frequency_bins``.
    prefit : bool, default=False
        Whether the models are already fitted and are used unchanged. Otherwise ``fit`` fits clones
        on ``X``, and models that learn a vocabulary, including those within other mixtures, get the
        vocabulary of the first.
    validation_fraction : float, default=0.1
        Fraction of the sentences of ``X``, taken from its end, used as validation text. Only with
        ``weights="em"``, without ``X_valid`` and without ``prefit``.

    Attributes
    ----------
    models_ : list of language models
        The fitted models.
    weights_ : ndarray of float64 of shape (n_models,) or (n_bins, n_models)
        The weights; with ``frequency_bins`` for each bin, starting with the most frequent contexts.
        The last bin is for contexts that do not occur in the training text.
    vocabulary_ : dict of str to int
        The words of the first model and their ids: columns of ``predict_proba``. The last word is
        ``<s>``, which is never predicted.
    special_tokens_ : tuple of (str, str, str)
        The start and the end of a sentence, and the unknown word.
    reads_across_sentences_ : bool
        Whether the score of a sentence depends on the sentences before it.

    Notes
    -----
    With ``frequency_bins``, a context with count c in a training text of T contexts has the bin
    ``ceil(-log((1 + c) / (1 + T)))``. A bin without validation words has the weights of the whole
    validation text.

    Parameters of the models can be searched under the names of their classes, such as
    ``cachelanguagemodel__cache_size``, as in :func:`sklearn.pipeline.make_pipeline`.

    References
    ----------
    .. [1] Jelinek & Mercer (1980). Interpolated estimation of Markov source parameters from sparse
           data. Pattern Recognition in Practice.
    .. [2] Bengio, Ducharme, Vincent & Jauvin (2003). A neural probabilistic language model. JMLR 3,
           section 3.

    Examples
    --------
    >>> from sklearn_hashnlp.language import (
    ...     CacheLanguageModel,
    ...     HsigmoidLanguageModel,
    ...     InterpolatedLanguageModel,
    ... )
    >>> sentences = [
    ...     "the cat sat on the mat",
    ...     "the dog sat on the rug",
    ...     "a cat saw the dog",
    ... ] * 5
    >>> network = HsigmoidLanguageModel(
    ...     order=3, embedding_dim=8, hidden_size=16, random_state=0
    ... )
    >>> mixture = InterpolatedLanguageModel([network, CacheLanguageModel()])
    >>> valid = ["a dog saw the dog", "the dog sat on the dog"]
    >>> mixture.fit(sentences, X_valid=valid).weights_.shape
    (2,)
    >>> all(
    ...     mixture.perplexity(valid) < model.perplexity(valid) + 1e-6
    ...     for model in mixture.models_
    ... )
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "models": [list, tuple],
        "weights": [StrOptions({"em", "equal"}), list, tuple],
        "frequency_bins": ["boolean"],
        "context_length": [Interval(Integral, 1, _MAX_CONTEXT_LENGTH, closed="both")],
        "prefit": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    }

    _reads_word_ids = False
    models_: list[BaseLanguageModel]
    weights_: NDArray[np.float64]
    _members: Members

    def __init__(
        self,
        models: list[Any],
        *,
        weights: Literal["em", "equal"] | list[float] = "em",
        frequency_bins: bool = False,
        context_length: int = 2,
        prefit: bool = False,
        validation_fraction: float = 0.1,
    ) -> None:
        self.models = models
        self.weights = weights
        self.frequency_bins = frequency_bins
        self.context_length = context_length
        self.prefit = prefit
        self.validation_fraction = validation_fraction

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any = None, y: Any = None, X_valid: Any = None) -> Self:
        """Fit the models, unless they are fitted, and learn their weights.

        Parameters
        ----------
        X : iterable of (str or iterable of str), path-like or callable, default=None
            Training sentences, as in :meth:`HsigmoidLanguageModel.fit`. With ``prefit`` only needed
            for ``frequency_bins``.
        y : Ignored
        X_valid : as X, default=None
            Validation sentences for learning the weights, on which the models must not be trained.
            They are also passed to ``fit`` of models with a parameter ``X_valid``. None: the last
            part of ``X``, which is then excluded from training.

        Returns
        -------
        self : InterpolatedLanguageModel
        """
        self._check_models(X, X_valid)
        train, valid = self._read(X, X_valid)
        models = list(self.models) if self.prefit else self._fit_models(train, valid)
        members = Members.of(models, caller=type(self).__name__)
        if self.frequency_bins and train is not None:
            members = members.with_bins(train, int(self.context_length))
        self.weights_ = self._learn_weights(members, valid)
        self._set_members(members)
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters, including parameters of the models under their class names."""
        parameters = super().get_params(deep=False)
        for name, model in self._named_models() if deep else ():
            parameters[name] = model
            parameters |= {
                f"{name}__{key}": value for key, value in model.get_params(deep=True).items()
            }
        return parameters

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also parameters of models, such as ``cachelanguagemodel__cache_size``.

        The name of a model replaces the model.
        """
        if "models" in params:
            self.models = params.pop("models")
        names = [name for name, _ in self._named_models()]
        if not set(names).isdisjoint(params):
            models = zip(names, self.models, strict=True)
            self.models = [params.pop(name, model) for name, model in models]
        super().set_params(**params)
        return self

    def _named_models(self) -> list[tuple[str, Any]]:
        are_models = isinstance(self.models, list | tuple) and all(
            isinstance(one, BaseLanguageModel) for one in self.models
        )
        return name_estimators(self.models) if are_models else []

    def _check_models(self, X: Any, X_valid: Any) -> None:
        """Check conditions that the declared constraints cannot express."""
        name = type(self).__name__
        for index, model in enumerate(self.models):
            if not isinstance(model, BaseLanguageModel):
                raise TypeError(
                    f"{name} mixes language models, got {model!r:.60} as models[{index}]."
                )
        if not self.models:
            raise ValueError(f"{name} needs at least one language model, got models=[].")
        learns = isinstance(self.weights, str) and self.weights == "em"
        if not isinstance(self.weights, str):
            _check_weights(self.weights, len(self.models), name)
        if self.frequency_bins and not learns:
            raise ValueError(
                f"{name}(frequency_bins=True) learns weights: set weights='em', got "
                f"{self.weights!r}."
            )
        if X is None and not self.prefit:
            raise ValueError(
                f"{name} needs X, sentences to fit its models on. Set prefit=True if they are "
                "fitted."
            )
        if X is None and self.frequency_bins:
            raise ValueError(
                f"{name}(frequency_bins=True) needs X: the training text, whose contexts are "
                "counted."
            )
        if X_valid is None and self.prefit and learns:
            raise ValueError(
                f"{name}(prefit=True) needs X_valid: sentences that the models were not trained "
                "on, to learn the weights from. Or set weights."
            )
        if self.prefit:
            for model in self.models:
                check_is_fitted(model)

    def _read(self, X: Any, X_valid: Any) -> tuple[Sentences | None, Sentences | None]:
        """Read training and validation sentences, and split off the latter if needed."""
        train = None if X is None else self._read_sentences(X)
        if X_valid is not None:
            return train, self._read_sentences(X_valid)
        if (
            train is None
            or self.prefit
            or not isinstance(self.weights, str)
            or self.weights == "equal"
        ):
            return train, None
        n_valid = max(1, round(float(self.validation_fraction) * len(train)))
        if n_valid >= len(train):
            raise ValueError(
                f"{type(self).__name__} cannot split validation sentences off {len(train)}: pass "
                "more, or X_valid."
            )
        return train.part(0, len(train) - n_valid), train.part(len(train) - n_valid, len(train))

    def _read_sentences(self, X: Any) -> Sentences:
        name = type(self).__name__
        corpus = read_training_corpus(
            X, order=None, special_tokens=_special_tokens(self), caller=name
        )
        assert isinstance(corpus, Sentences)
        return corpus

    def _fit_models(
        self, train: Sentences | None, valid: Sentences | None
    ) -> list[BaseLanguageModel]:
        """Fit clones of the models, all with the vocabulary of the first."""
        assert train is not None
        models: list[BaseLanguageModel] = []
        for template in self.models:
            model = clone(template)
            if models:
                _set_vocabulary(model, models[0])
            options = {}
            if valid is not None and has_fit_parameter(model, "X_valid"):
                options = {"X_valid": valid.read}
            models.append(model.fit(train.read, **options))
        return models

    def _learn_weights(self, members: Members, valid: Sentences | None) -> NDArray[np.float64]:
        n_models = len(members.models)
        if not isinstance(self.weights, str):
            return np.array(self.weights, dtype=np.float64)
        if self.weights == "equal":
            return np.full(n_models, 1 / n_models)
        assert valid is not None
        text = members.encode_text(valid)
        log_probs = np.stack(members.log_prob(text), axis=1)
        weights = em_weights_by_bin(
            log_probs, text.bins, 1 if members.bins is None else members.bins.n_bins
        )
        return weights[0] if members.bins is None else weights

    def _set_members(self, members: Members) -> None:
        self._members, self.models_ = members, members.models
        self._set_tokenizer(members.tokenizer)

    def _encode_text(self, corpus: Any) -> MixedText:
        return self._members.encode_text(corpus)

    @property
    def reads_across_sentences_(self) -> bool:
        """Whether the score of a sentence depends on the sentences before it."""
        return any(model.reads_across_sentences_ for model in self.models_)

    def _encode_contexts(self, beginnings: list[list[str]]) -> MixedText:
        return self._members.encode_contexts(beginnings)

    def _log_prob(self, windows: MixedText) -> NDArray[np.float64]:
        return interpolate(self._members.log_prob(windows), self._weights_of(windows))

    def _log_probs(self, contexts: MixedText) -> NDArray[np.float64]:
        return interpolate(self._members.log_probs(contexts), self._weights_of(contexts))

    def _sampler(self, seed: int) -> Callable[[MixedText], NDArray[np.int64]]:
        """Return a function that draws next words, each from a model drawn by the weights."""
        generator = np.random.default_rng(seed)
        samplers = [model._sampler(int(generator.integers(2**31 - 1))) for model in self.models_]

        def draw(contexts: MixedText) -> NDArray[np.int64]:
            chosen = draw_columns(self._weights_of(contexts), generator)
            words = np.empty(len(contexts), dtype=np.int64)
            for index, sampler in enumerate(samplers):
                rows = np.flatnonzero(chosen == index)
                if len(rows):
                    words[rows] = self._members.ids_of_first(
                        index, sampler(contexts.parts[index][rows])
                    )
            return words

        return draw

    def _weights_of(self, text: MixedText) -> NDArray[np.float64]:
        """Return the weights of each word, of shape (n, n_models)."""
        weights: NDArray[np.float64] = np.atleast_2d(self.weights_)[text.bins]
        return weights

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        check_is_fitted(self)
        bins = self._members.bins
        # Prefit models are saved as parameters.
        are_parameters = self.prefit and all(
            one is other for one, other in zip(self.models_, self.models, strict=True)
        )
        models = None if are_parameters else self.models_
        values = {"models": models, "context_length": None if bins is None else bins.length}
        arrays = {"weights": self.weights_}
        return values, arrays if bins is None else arrays | {
            "context_keys": bins.keys,
            "context_counts": bins.counts,
        }

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        models = self.models if values["models"] is None else values["models"]
        members = Members.of(models, caller=type(self).__name__)
        if values["context_length"] is not None:
            bins = ContextBins(
                values["context_length"], arrays["context_keys"], arrays["context_counts"]
            )
            bins.check()
            members = replace(members, bins=bins)
        weights = arrays["weights"]
        n_bins = () if members.bins is None else (members.bins.n_bins,)
        if (
            weights.shape != (*n_bins, len(models))
            or weights.dtype != np.float64
            or not _are_weights(weights)
        ):
            raise ValueError(
                f"{weights.dtype} {weights.shape} are no weights of {len(models)} models."
            )
        self.weights_ = weights
        self._set_members(members)

    def __sklearn_clone__(self) -> InterpolatedLanguageModel:
        """Return a clone, which keeps fitted models if ``prefit`` is set."""
        parameters = self.get_params(deep=False)
        keep = self.prefit is True
        return type(self)(
            **{
                key: value if keep else clone(value, safe=False)
                for key, value in parameters.items()
            }
        )


def _special_tokens(model: Any) -> SpecialTokens:
    """Return the special tokens of a model, fitted or not; for a mixture, of its first model."""
    if isinstance(model, InterpolatedLanguageModel):
        return _special_tokens(model.models[0])
    return (
        model._tokenizer.special_tokens if hasattr(model, "_tokenizer") else SpecialTokens.of(model)
    )


def _set_vocabulary(model: Any, first: BaseLanguageModel) -> None:
    """Set vocabulary and special tokens of a model or a mixture's models that would learn them."""
    if isinstance(model, InterpolatedLanguageModel):
        for _, one in () if model.prefit else model._named_models():
            _set_vocabulary(one, first)
    elif getattr(model, "vocabulary", first) is None:
        model.set_params(
            vocabulary=first.vocabulary_, special_tokens=tuple(first._tokenizer.special_tokens)
        )


def _check_weights(weights: Any, n_models: int, name: str) -> None:
    if len(weights) != n_models:
        raise ValueError(f"{name}: weights has {len(weights)} numbers for {n_models} models.")
    if not all(isinstance(weight, Real) for weight in weights) or not _are_weights(
        np.array(weights, dtype=float)
    ):
        raise ValueError(
            f"{name}: weights must be numbers of at least 0 that sum to 1, got {weights!r}."
        )


def _are_weights(weights: NDArray[np.float64]) -> bool:
    return bool((weights >= 0).all() and np.allclose(weights.sum(axis=-1), 1.0))
