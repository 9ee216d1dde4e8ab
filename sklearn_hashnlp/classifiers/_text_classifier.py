"""TextClassifier: a classifier of raw strings."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from sklearn_hashnlp._device import Device
from sklearn_hashnlp._sklearn import (
    CallbackSupportMixin,
    HasMethods,
    Pipeline,
    fit_context,
    index_rows,
    literal_options,
)
from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers._losses import LossChoice, takes_several_labels
from sklearn_hashnlp.classifiers._make_text_classifier import (
    MODEL_PARAMETERS,
    Features,
    named_in_errors,
)
from sklearn_hashnlp.classifiers._net_classifier import ClassWeight, Monitor
from sklearn_hashnlp.classifiers._text_pipeline import HoldsTextPipeline
from sklearn_hashnlp.classifiers.hash_embedding._auto_parameters import SolverChoice
from sklearn_hashnlp.classifiers.hash_embedding._text_scorer import TextScorer
from sklearn_hashnlp.sentences._pretrained_weights import PretrainedName
from sklearn_hashnlp.text._documents import as_documents
from sklearn_hashnlp.training._fit_task import let_report, reported_to_callbacks
from sklearn_hashnlp.training._settings import EarlyStopping, joined_callbacks
from sklearn_hashnlp.training._validation_split import errors_of_validation_data, validation_pair


# scikit-learn has no types
class TextClassifier(HoldsTextPipeline, CallbackSupportMixin):  # type: ignore[misc]
    r"""Classify texts: strings in, labels out, with one or multiple labels per text.

    Counts hashed n-grams and classifies them through hash embeddings [1]_, without a vocabulary,
    with good default parameters. It is the pipeline of :func:`make_text_classifier` as one
    estimator, with parameters that a grid search can set by name.

    Parameters
    ----------
    features : {"auto", "words", "words+characters", "characters"}, default="auto"
        - ``"auto"``: an :class:`~sklearn_hashnlp.text.AutoNgramVectorizer`, which counts n-grams of
          words, and of characters too if the training texts are few or many of their words are new;
          it dampens counts and marks the start and the end of a text, and chooses the weight of
          characters by cross-validation, without ``sample_weight``. A first ``partial_fit`` counts
          words only.
        - ``"words"``: a :class:`~sklearn_hashnlp.text.HashingNgramVectorizer` of word unigrams and
          bigrams. Tokens are also punctuation and words of one character
          (``token_pattern=r"\w+|[^\w\s]"``), important in short texts.
        - ``"words+characters"``: a :class:`~sklearn.pipeline.FeatureUnion` of that (``"words"``)
          and of n-grams of 2 to 5 characters within words (``"characters"``), with half the weight.
        - ``"characters"``: only n-grams of 1 to 4 characters within words. They take more time and
          are more accurate if words are rare, misspelled or inflected, or for language
          identification.
    lowercase : bool, default=True
        Whether to convert texts to lowercase before counting n-grams. False distinguishes uppercase
        from lowercase, which helps if names matter.
    ngram_range : (int, int), default=(1, 2)
        Minimal and maximal number of words of an n-gram; ignored with ``features="characters"``.
    pretrained : "english", fitted transformer or None, default=None
        Turns texts into vectors, which become additional columns and help if labeled texts are few:
        the encoder of :func:`~sklearn_hashnlp.sentences.load_pretrained`, which comes with the
        package, or any scikit-learn transformer that was fitted to other texts and returns a dense
        array. It is not fitted again, and a clone of the classifier keeps it. A change after
        ``fit`` has no effect before the next ``fit``; ``partial_fit`` and saving refuse it.
    n_buckets : int, default=2**20
        Number of vectors in the shared pool: fewer make a smaller model.
    n_hashes : int, default=1
        Number of component vectors per n-gram; in a small pool more than one helps with
        ``solver="sgd"``.
    n_embeddings : int, default=2**20
        Number of rows of the importance table.
    embedding_dim : int or "auto", default="auto"
        Dimension of the embeddings. ``"auto"``: the number of classes but at most 32, from 1,024
        classes on about their square root; see :class:`HashEmbeddingClassifier`.
    loss : {"auto", "softmax", "ova", "hinge", "hsigmoid", "soft_softmax"}, default="auto"
        Loss function, see :class:`HashEmbeddingClassifier`. ``"auto"``: ``"ova"`` in multi-label
        classification, else ``"hinge"`` with few texts or many labels, else ``"softmax"``.
        ``"soft_softmax"``: ``y`` has a probability for each class.
    solver : {"auto", "dual", "sgd"}, default="auto"
        How the loss is minimized: by dual coordinate descent, or by epochs of stochastic gradients.
        ``"auto"`` is ``"dual"`` for the squared hinge loss if no parameter requires stochastic
        gradients, see :class:`HashEmbeddingClassifier`. Here ``early_stopping``,
        ``device="cuda"``, and a ``learning_rate``, ``max_epochs`` or ``embedding_dim`` (below the
        number of classes) other than the default do; in a search over one of them set
        ``solver="sgd"`` for all points.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, 1 for labels that are not in the dict.
    learning_rate : float, default=0.2
        Learning rate.
    max_epochs : int or "auto", default="auto"
        Number of epochs of ``"sgd"``. ``"auto"``: 1 from 20,000 texts on; with fewer until the
        training loss no longer falls.
    early_stopping : False, "valid_acc", "valid_loss" or EarlyStopping, default=False
        Whether to stop training when accuracy or loss on a validation set no longer improves, and
        keep the weights of the best epoch; see :class:`HashEmbeddingClassifier`.
    classifier : HashEmbeddingClassifier or None, default=None
        A classifier of rows with parameters that are not listed here, such as
        ``make_text_classifier()["classifier"].set_params(hidden_layer_sizes=(100,))``. It is
        cloned. The parameters ``n_buckets`` to ``early_stopping`` must then have their defaults;
        ``device``, ``random_state`` and ``verbose`` replace those of the classifier that are at
        their defaults. With its ``warm_start``, ``fit`` continues training.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Device to compute on; "auto" is a CUDA device if there is one.
    n_jobs : int or None, default=-1
        Number of threads that count n-grams and score texts, also if set after ``fit``; -1 is one
        per processor.
    random_state : int, RandomState instance or None, default=None
        Seeds the hash functions, the initial weights, the validation set, the order of the rows and
        dropout. On a CPU the same int gives the same model bit for bit, for any number of threads.
    verbose : int, default=0
        0 prints nothing, 1 a line per epoch, 2 also a progress bar, 3 also the settings.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels; for an indicator matrix the names of its columns if it is a data frame, else
        their indices.
    pipeline_ : sklearn.pipeline.Pipeline
        The fitted steps: ``"vectorizer"``, and ``"classifier"``, a
        :class:`HashEmbeddingClassifier`.
    history_ : list of dict
        One entry per epoch or call of ``partial_fit``, see :class:`HashEmbeddingClassifier`.
    loss_, solver_ : str
        The loss that was minimized, and the solver that ran last.
    temperature_ : float
        Divisor of the logits; 1 if it was not fitted, more than 1 if the scores are over-confident.
    n_parameters_ : int
        Number of parameters of the net.
    net_ : skorch.NeuralNetClassifier
        The trained net, see :class:`HashEmbeddingClassifier`.

    See Also
    --------
    make_text_classifier : The same as a ``Pipeline``, with steps to use around a
        ``ColumnTransformer`` for text and other columns.
    HashEmbeddingClassifier : The classifier of rows inside.
    sklearn_hashnlp.text.distort_texts : Adds typing errors to texts, for data augmentation.

    Notes
    -----
    In cross-validation with lists of labels pass ``cv=KFold(5)``: stratified splitters refuse
    lists.

    References
    ----------
    .. [1] Svenstrup, Hansen & Winther (2017). Hash embeddings for efficient word representations.
           NIPS, arXiv:1709.03933, sections 2 and 5.

    Examples
    --------
    >>> from sklearn_hashnlp import TextClassifier
    >>> texts = [
    ...     "a fine, funny film",
    ...     "dull and far too long",
    ...     "funny and fine acting",
    ...     "too dull to sit through",
    ... ]
    >>> labels = ["good", "bad", "good", "bad"]
    >>> model = TextClassifier(random_state=0).fit(texts, labels)
    >>> model.predict(["fine and funny", "so dull"])
    array(['good', 'bad'], dtype='<U4')

    Multiple labels per text:

    >>> y = [["film", "good"], ["bad"], ["acting", "good"], ["bad"]]
    >>> model = TextClassifier(max_epochs=20, random_state=0).fit(texts, y)
    >>> model.predict(texts).tolist()
    [['film', 'good'], ['bad'], ['acting', 'good'], ['bad']]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: HashEmbeddingClassifier._parameter_constraints[name]
        for name in (*MODEL_PARAMETERS, "device", "random_state", "verbose")
    } | {
        "features": [literal_options(Features)],
        "lowercase": ["boolean"],
        "ngram_range": [tuple, list],
        "pretrained": [
            literal_options(PretrainedName),
            HasMethods(["fit", "transform", "get_params"]),
            None,
        ],
        "classifier": [HashEmbeddingClassifier, None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
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
    ) -> None:
        self.features = features
        self.lowercase = lowercase
        self.ngram_range = ngram_range
        self.pretrained = pretrained
        self.n_buckets = n_buckets
        self.n_hashes = n_hashes
        self.n_embeddings = n_embeddings
        self.embedding_dim = embedding_dim
        self.loss = loss
        self.solver = solver
        self.class_weight = class_weight
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.classifier = classifier
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @reported_to_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        validation_data: tuple[Any, Any] | None = None,
        callbacks: list[Any] | None = None,
        unlabeled: Any = None,
    ) -> Self:
        """Train the classifier on texts and their labels.

        Parameters
        ----------
        X : iterable of str of length n_texts
            The texts: any iterable, or a column or a one-column frame of pandas, polars or Arrow.
        y : array-like or lists of labels of shape (n_texts,), or \
                {array-like, sparse matrix, data frame} of shape (n_texts, n_classes)
            Labels: strings, integers or bools, one per text; or, with ``loss="auto"`` or ``"ova"``,
            a list (or tuple, or set) of labels per text, which may be empty, or an indicator
            matrix; or, with ``loss="soft_softmax"``, the probability of each class: at least 0,
            with a sum of 1 for each text. ``predict`` returns labels in the same form.
        sample_weight : array-like of shape (n_texts,), default=None
            Weights of the texts, at least 0; None is 1. Texts of weight 0 are ignored. With the
            dual solver larger weights mean less regularization.
        classes : array-like of shape (n_classes,), default=None
            The labels of the columns of ``y``, with ``loss="soft_softmax"``. None: the column names
            of a data frame, else 0 to n_classes - 1.
        validation_data : (X, y), default=None
            Texts and labels that are not trained on, as in :meth:`HashEmbeddingClassifier.fit`.
        callbacks : list of skorch callbacks and functions, or None, default=None
            As ``callbacks`` of :class:`HashEmbeddingClassifier`, in addition to those of
            ``classifier``.
        unlabeled : iterable of str, or path of a file, default=None
            More texts like those of ``X``, without labels. A
            :class:`~sklearn_hashnlp.sentences.CooccurrenceEncoder` is fitted to them and ``X``, and
            its vectors become additional columns. Of thousands of texts it helps most if few are
            labeled. A file is read as by :class:`~sklearn_hashnlp.datasets.TextReader`.

        Returns
        -------
        self : TextClassifier

        Raises
        ------
        ValueError
            If a parameter, ``X``, ``y`` or ``sample_weight`` is not as described; and as
            :meth:`HashEmbeddingClassifier.fit`.
        TypeError
            If a text is not a ``str``.
        """
        is_warm = self.classifier is not None and self.classifier.warm_start
        resumes = is_warm and hasattr(self, "pipeline_")
        if unlabeled is not None and resumes:
            raise ValueError(
                f"{type(self).__name__}.fit cannot learn from unlabeled texts where it "
                "continues training, as new columns would mean nothing to the trained net. "
                "Set warm_start=False of the classifier."
            )
        if unlabeled is not None or sample_weight is not None:
            X = list(as_documents(X, caller=type(self).__name__))
        if sample_weight is not None:
            X, y, sample_weight = _without_zero_weights(X, y, sample_weight)
        pipeline = self._updated_pipeline() if resumes else self._new_pipeline(X, unlabeled)
        count = partial(pipeline[0].fit_transform, y=y)
        rows = self._rows(X, pipeline) if resumes else self._count(count, X)

        def whole(classifier: HashEmbeddingClassifier) -> TextClassifier:
            model = copy(self)
            model._keep(Pipeline([pipeline.steps[0], ("classifier", classifier)]))
            return model

        let_report(pipeline[-1], self, whole)
        if validation_data is not None:
            texts, valid_y = validation_pair(validation_data, type(self).__name__)
            with errors_of_validation_data():
                validation_data = self._rows(texts, pipeline), valid_y
        own = pipeline[-1].callbacks
        try:
            with named_in_errors(self):
                pipeline[-1].set_params(callbacks=joined_callbacks(own, callbacks, self))
                pipeline[-1].fit(
                    rows,
                    y,
                    sample_weight=sample_weight,
                    classes=classes,
                    validation_data=validation_data,
                )
        finally:
            pipeline[-1].set_params(callbacks=own)
            self._keep(pipeline)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train for one epoch on more texts; continue earlier calls of ``fit`` or ``partial_fit``.

        The learning rate is constant and there is no validation set, see
        :meth:`HashEmbeddingClassifier.partial_fit`. The first call determines the scale of the
        vectors of ``pretrained``: it should have hundreds of texts.

        Parameters
        ----------
        X : iterable of str of length n_texts
            The texts, as in ``fit``.
        y : array-like or lists of labels of shape (n_texts,), or \
                {array-like, sparse matrix, data frame} of shape (n_texts, n_classes)
            Labels, as in ``fit``.
        classes : array-like of shape (n_classes,), default=None
            All labels; required in the first call, unless ``y`` is a matrix. A later call may
            add labels, ``[*model.classes_, "new"]``, which start as improbable for all texts.
            ``classes_`` stays sorted, so that columns of ``predict_proba`` may move.
        sample_weight : array-like of shape (n_texts,), default=None
            As in ``fit``.

        Returns
        -------
        self : TextClassifier

        Raises
        ------
        ValueError
            As in ``fit``; or if the first call has no ``classes``, a later one labels that are not
            added by ``classes``, or weights are "balanced".

        Examples
        --------
        >>> from sklearn_hashnlp import TextClassifier
        >>> model = TextClassifier(random_state=0)
        >>> mails = [("fine and funny", "good"), ("long and dull", "bad")] * 5
        >>> for text, label in mails:
        ...     model = model.partial_fit([text], [label], ["bad", "good"])
        >>> model.predict(["funny", "dull"]).tolist()
        ['good', 'bad']
        """
        resumes = hasattr(self, "pipeline_")
        pipeline = self._updated_pipeline() if resumes else self._new_pipeline()
        starts_union = not resumes and self.pretrained is not None
        rows = (
            self._count(pipeline[0]._begin_stream, X) if starts_union else self._rows(X, pipeline)
        )
        try:
            with named_in_errors(self):
                pipeline[-1].partial_fit(rows, y, classes=classes, sample_weight=sample_weight)
        finally:
            self._keep(pipeline)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable label of each text; if multi-label, all labels above 0.5.

        Parameters
        ----------
        X : iterable of str
            Texts, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,), or of shape (n_samples, n_classes), dtype int64
            Labels; in multi-label classification an indicator matrix, or an array of lists of
            labels if ``fit`` was given lists.

        Raises
        ------
        ValueError
            If ``X`` is not as in ``fit``, or a score is infinite or NaN after a training that
            diverged.

        Examples
        --------
        >>> from sklearn_hashnlp import TextClassifier
        >>> texts = ["fine and funny", "long and dull"] * 5
        >>> model = TextClassifier(random_state=0).fit(texts, ["good", "bad"] * 5)
        >>> model.predict(["funny"]).tolist()
        ['good']
        """
        if type(X) is list and len(X) == 1 and type(X[0]) is str and "pipeline_" in vars(self):
            label = self._scorer().label(X[0])
            if label is not None:
                return np.array(self.pipeline_.steps[-1][1].classes_[label : label + 1])
        return super().predict(X)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return self._score(X, HashEmbeddingClassifier._scores, with_scores=True)

    def _most_probable(self, X: Any) -> NDArray[np.int64]:
        return self._score(X, HashEmbeddingClassifier._most_probable, with_scores=False)

    def _score(
        self,
        X: Any,
        of_counts: Callable[[HashEmbeddingClassifier, Any], NDArray[Any]],
        *,
        with_scores: bool,
    ) -> NDArray[Any]:
        """Score texts or find their labels, in native calls or, where needed, from counts."""
        classifier = self._fitted()
        texts = list(as_documents(X, caller=type(self).__name__))
        if set(map(type, texts)) <= {str}:
            scored = self._scorer().score(texts, self.n_jobs, with_scores=with_scores)
            if scored is not None:
                return scored
        with named_in_errors(self):
            return of_counts(classifier, self._rows(texts))

    def _scorer(self) -> TextScorer:
        (_, vectorizer), (_, classifier) = self.pipeline_.steps
        return TextScorer.of(vectorizer, classifier)

    def _topk(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if self._fitted()._loss.has_temperature:
            return super()._topk(X, k)
        with named_in_errors(self):
            return self._fitted()._topk(self._rows(X), k)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = takes_several_labels(self.loss)
        return tags


def _without_zero_weights(
    X: list[Any], y: Any, sample_weight: ArrayLike
) -> tuple[list[Any], Any, ArrayLike]:
    """Drop texts of weight 0, which vectorizer and encoders would count; others are not checked."""
    weights = np.asarray(sample_weight)
    fits = weights.shape == (len(X),) and _num_samples(y) == len(X)
    if not fits or weights.all() or not weights.any():
        return X, y, sample_weight
    keep = np.flatnonzero(weights)
    return index_rows(X, keep), index_rows(y, keep), weights[keep]
