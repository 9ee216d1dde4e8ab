"""Text classification without a dictionary, as a scikit-learn classifier."""

from __future__ import annotations

import signal
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from skorch.helper import predefined_split

from sklearn_hashnlp._sklearn import Interval, StrOptions, fit_context
from sklearn_hashnlp.estimators._batches import RaggedRows
from sklearn_hashnlp.estimators._best_weights import StopAtBest
from sklearn_hashnlp.estimators._document_frequency import start_from_document_frequency
from sklearn_hashnlp.estimators._model_state import pack_labels, unpack_labels
from sklearn_hashnlp.estimators._parameter_checks import check_parameters
from sklearn_hashnlp.estimators._ragged_net import RaggedNet, make_net, net_from_state
from sklearn_hashnlp.estimators._sparse_rows import canonical_rows
from sklearn_hashnlp.estimators._training import plain_torch, resolve_device, torch_seed
from sklearn_hashnlp.estimators._validation_rows import hold_out

_SEEDS = 2**31 - 1
_CHECKED_ROWS = 32


class HashEmbeddingClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify sparse rows, such as hashed n-gram counts, through hash embeddings.

    Every column has a vector, made of ``n_hashes`` vectors of a shared pool weighted by the column's own importance
    [1]_ [2]_; a document is the sum of its columns' vectors; a softmax head, or a small network, tells its class. No
    dictionary is kept and nothing depends on the number of columns, which may be as large as 2**31 - 1.

    Parameters
    ----------
    variant : {"improved", "paper", "standard"}, default="improved"
        ``"improved"``: importance and components are looked up by the column itself. ``"paper"``: by the column hashed
        to ``n_embeddings`` rows, so that columns which collide there share everything. ``"standard"``: the hashing
        trick, one table of ``n_embeddings`` vectors and no importance. Where the rows have no more columns than
        ``n_embeddings``, the improved variant has nothing to improve.
    n_buckets : int, default=10**6
        Vectors in the shared pool; B in the paper. Ignored by ``variant="standard"``.
    n_hashes : int, default=2
        Vectors of the pool that make up one column's; k in the paper. Ignored by ``variant="standard"``.
    n_embeddings : int, default=10**7
        Rows of the importance table; n (or K) in the paper.
    embedding_dim : int, default=20
        Length of a vector; d in the paper.
    aggregation : {"sum", "concat", "median"}, default="sum"
        How the components are joined. Ignored by ``variant="standard"``.
    append_weight : bool, default=True
        Whether a document also holds the sum of its columns' importance. Ignored by ``variant="standard"``.
    importance_init : {"idf", "ones"}, default="idf"
        What importance starts at. ``"idf"``: the inverse document frequency among the training rows, divided by its
        mean, and zero for columns that no training row has, which then change nothing. ``"ones"``: one, as in the
        source. Ignored by ``variant="standard"``.
    normalize : {None, "l1", "l2"}, default="l2"
        By which norm of its columns, weighted by importance, a row's sum is divided; None is the source's plain sum.
    hidden_layer_sizes : tuple of int, default=()
        Hidden layers of the head, each batch-normalised and rectified; the source has (1000, 1000, 1000).
    ngram_dropout : (int, int) or None, default=None
        In training each row keeps a random number of its columns, between these two inclusive; shorter rows stay
        whole. The source has (4, 99).
    max_epochs : int, default=2
        Passes over the training rows.
    batch_size : int, default=32
        Rows a step.
    learning_rate : float, default=0.1
        Step size of row-wise AdaGrad; a head with hidden layers takes a tenth of it.
    shuffle : bool, default=True
        Whether each pass has an order of its own.
    early_stopping : bool, default=False
        Whether to hold out some training rows, stop when accuracy on them no longer grows, and keep the weights of the
        best epoch. Where a class has a single row or fewer than 20 rows would be held out, nothing is, and training
        runs for ``max_epochs``.
    validation_fraction : float, default=0.05
        Share of the rows to hold out, stratified by class. Only with ``early_stopping``.
    n_iter_no_change : int, default=10
        Epochs without a better one after which training stops. Only with ``early_stopping``.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where to compute; "auto" takes a CUDA device where there is one.
    callbacks : list of skorch callbacks or None, default=None
        Handed to skorch as they are: callbacks, their classes or pairs of a name and one. They see class numbers, the
        places of the labels in ``classes_``.
    random_state : int, RandomState instance or None, default=None
        Of hash functions, initial weights, order and dropout. The same int gives the same model to the last bit,
        whatever the number of threads (on a CPU).
    verbose : int, default=0
        1 prints a line an epoch.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they were all strings.
    n_parameters_ : int
        Trainable numbers: ``n_embeddings * n_hashes + n_buckets * embedding_dim`` (``n_embeddings * embedding_dim`` for
        ``variant="standard"``) and the head's, which without hidden layers are ``(width + 1) * n_classes`` with
        ``width`` the length of a document's vector.
    history_ : list of dict
        An entry an epoch: ``epoch``, ``train_loss``, ``dur`` (seconds) and, where rows were held out, ``valid_loss``
        and ``valid_acc``.
    net_ : skorch.NeuralNetClassifier
        The trained net; ``net_.module_.bag`` is a :class:`sklearn_hashnlp.nn.HashEmbeddingBag`. Of a model that was
        loaded or copied, ``net_.history`` holds what ``history_`` holds, and neither batches nor callbacks are kept.

    See Also
    --------
    make_text_classifier : The whole way from strings to labels.
    sklearn_hashnlp.nn.HashEmbeddingBag : The embedding alone.

    Notes
    -----
    The pool starts at zero and the head at a random orthogonal matrix, so an n-gram that was never seen in training
    adds nothing. Steps and memory grow with the columns that occur, not with the size of the tables.

    An interrupt (Ctrl-C) ends ``fit`` early but in good order, with a warning: the model is the one reached so far, or
    the best epoch's with ``early_stopping``, and ``history_`` holds the epochs that were finished.

    References
    ----------
    .. [1] Svenstrup, Hansen & Winther (2017). Hash embeddings for efficient word representations. NIPS,
           arXiv:1709.03933, sections 2 and 5.
    .. [2] Dubois (2017). Hash-Embeddings, https://github.com/YannDubs/Hash-Embeddings (the improved variant).

    Examples
    --------
    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_hashnlp.estimators import HashEmbeddingClassifier
    >>> texts = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through"]
    >>> model = make_pipeline(HashingVectorizer(), HashEmbeddingClassifier(random_state=0))
    >>> model.fit(texts, ["good", "bad", "good", "bad"]).predict(["fine and funny", "so dull"])
    array(['good', 'bad'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "variant": [StrOptions({"improved", "paper", "standard"})],
        "n_buckets": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "n_hashes": [Interval(Integral, 1, 64, closed="both")],
        "n_embeddings": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "embedding_dim": [Interval(Integral, 1, None, closed="left")],
        "aggregation": [StrOptions({"sum", "concat", "median"})],
        "append_weight": ["boolean"],
        "importance_init": [StrOptions({"idf", "ones"})],
        "normalize": [StrOptions({"l1", "l2"}), None],
        "hidden_layer_sizes": [tuple, list],
        "ngram_dropout": [tuple, list, None],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "shuffle": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "device": [StrOptions({"cpu", "cuda", "auto"})],
        "callbacks": [list, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        variant: str = "improved",
        n_buckets: int = 10**6,
        n_hashes: int = 2,
        n_embeddings: int = 10**7,
        embedding_dim: int = 20,
        aggregation: str = "sum",
        append_weight: bool = True,
        importance_init: str = "idf",
        normalize: str | None = "l2",
        hidden_layer_sizes: tuple[int, ...] | list[int] = (),
        ngram_dropout: tuple[int, int] | list[int] | None = None,
        max_epochs: int = 2,
        batch_size: int = 32,
        learning_rate: float = 0.1,
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.05,
        n_iter_no_change: int = 10,
        device: str = "cpu",
        callbacks: list[Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.variant = variant
        self.n_buckets = n_buckets
        self.n_hashes = n_hashes
        self.n_embeddings = n_embeddings
        self.embedding_dim = embedding_dim
        self.aggregation = aggregation
        self.append_weight = append_weight
        self.importance_init = importance_init
        self.normalize = normalize
        self.hidden_layer_sizes = hidden_layer_sizes
        self.ngram_dropout = ngram_dropout
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.device = device
        self.callbacks = callbacks
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: ArrayLike) -> HashEmbeddingClassifier:
        """Train on rows and their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of finite numbers of any sign; computed in float32.
        y : array-like of shape (n_samples,)
            Labels: strings, integers or bools.

        Returns
        -------
        HashEmbeddingClassifier
            Itself.

        Raises
        ------
        ValueError
            If a parameter, ``X`` or ``y`` is not as described, ``y`` has one class only, ``X`` has more than 2**31 - 1
            columns or, with ``normalize=None``, a value larger than 1e15, or if training diverges.
        RuntimeError
            If ``device="cuda"`` and torch finds no CUDA device.
        """
        check_parameters(self)
        device = resolve_device(self.device, caller=type(self).__name__)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32)
        check_classification_targets(y)
        classes, targets = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least two classes in y, got one class only: "
                f"{classes.tolist()[0]!r}. Check that y holds the labels and that the rows were not sorted and cut."
            )
        random_state = check_random_state(self.random_state)
        hash_seed, module_seed, batch_seed, split_seed = (int(random_state.randint(_SEEDS)) for _ in range(4))
        rows = RaggedRows(canonical_rows(X, any_scale=self.normalize is not None), targets.astype(np.int64))
        held_out = self.validation_fraction if self.early_stopping else 0.0
        train_rows, valid_rows = hold_out(rows, held_out, seed=split_seed)
        with plain_torch(device):
            net = make_net(self._architecture(len(classes), hash_seed), device)
            self._add_training(net, valid_rows, np.random.default_rng(batch_seed))
            with torch_seed(module_seed, device):
                net.initialize()
            if self.importance_init == "idf" and self.variant != "standard":
                start_from_document_frequency(net.module_.bag, train_rows.indices, len(train_rows))
            net.partial_fit(train_rows)
            net.check_scores(train_rows.select(np.arange(min(_CHECKED_ROWS, len(train_rows)))))
            net.train_split = None  # it holds the rows held out
        self.classes_ = classes
        self.history_ = _plain_history(net)
        self._hold(net)
        # Whoever has put a handler of their own in the place of Python's knows of the interrupt already.
        if net.interrupted_ and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            warnings.warn("Training interrupted by user.", stacklevel=3)  # scikit-learn's words
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores before the softmax; for two classes the second's less the first's.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Estimate class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``.
        """
        scores = self._scores(X)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """Tell the most probable label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        scores = self._scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def _architecture(self, n_classes: int, hash_seed: int) -> dict[str, Any]:
        return {
            "num_embeddings": int(self.n_embeddings),
            "num_buckets": int(self.n_buckets),
            "embedding_dim": int(self.embedding_dim),
            "num_hashes": int(self.n_hashes),
            "variant": self.variant,
            "aggregation": self.aggregation,
            "append_weight": bool(self.append_weight),
            "normalize": self.normalize,
            "importance_init": 0.0 if self.importance_init == "idf" else 1.0,
            "hash_seed": hash_seed,
            "hidden_sizes": [int(size) for size in self.hidden_layer_sizes],
            "num_classes": n_classes,
        }

    def _add_training(self, net: RaggedNet, valid_rows: RaggedRows | None, generator: np.random.Generator) -> None:
        callbacks: list[Any] = list(self.callbacks or [])
        if valid_rows is not None:
            callbacks.append(("stop_at_best", StopAtBest(self.n_iter_no_change)))
        net.set_params(
            callbacks=callbacks,
            lr=float(self.learning_rate),
            max_epochs=int(self.max_epochs),
            batch_size=int(self.batch_size),
            iterator_train__shuffle=bool(self.shuffle),
            iterator_train__dropout=None if self.ngram_dropout is None else tuple(map(int, self.ngram_dropout)),
            iterator_train__generator=generator,
            iterator_train__smallest=2 if self.hidden_layer_sizes else 1,
            train_split=None if valid_rows is None else predefined_split(valid_rows),
            verbose=int(self.verbose),
        )
        if self.hidden_layer_sizes:
            net.set_params(optimizer__param_groups=[("head.*", {"lr": self.learning_rate / 10})])

    def _hold(self, net: RaggedNet) -> None:
        net.module_.eval()
        self.net_ = net
        self.n_parameters_ = sum(parameter.numel() for parameter in net.module_.parameters())

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        rows = RaggedRows(canonical_rows(X, any_scale=self.net_.module_.bag.normalize is not None))
        with plain_torch(torch.device(self.net_.device).type):
            return self.net_.score_rows(rows)

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Give everything learned, as JSON values and as arrays."""
        check_is_fitted(self)
        values, arrays = self.net_.to_state()
        values |= {
            "classes": pack_labels(self.classes_),
            "n_features_in": int(self.n_features_in_),
            "history": self.history_,
        }
        if hasattr(self, "feature_names_in_"):
            values["feature_names_in"] = [str(name) for name in self.feature_names_in_]
        return values, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what :meth:`_get_model_state` gave, whatever the parameters are by now."""
        self.classes_ = unpack_labels(values["classes"])
        self.n_features_in_ = int(values["n_features_in"])
        self.history_ = values["history"]
        if "feature_names_in" in values:
            self.feature_names_in_ = np.array(values["feature_names_in"], dtype=object)
        if values["architecture"]["num_classes"] != len(self.classes_):
            raise ValueError(
                f"The net tells {values['architecture']['num_classes']} classes apart, and there are "
                f"{len(self.classes_)} labels."
            )
        self._hold(net_from_state(values, arrays, self.history_))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "net_" in state:  # by its learned values: a table that is mostly untouched is not written out
            state["net_"] = self.net_.to_state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        net_state = state.pop("net_", None)
        super().__setstate__(state)
        if net_state is not None:
            values, arrays = net_state
            self._hold(net_from_state(values, arrays, self.history_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _plain_history(net: RaggedNet) -> list[dict[str, Any]]:
    measures = ("train_loss", "valid_loss", "valid_acc", "dur")
    return [
        {"epoch": int(entry["epoch"])} | {name: float(entry[name]) for name in measures if name in entry}
        for entry in net.history
    ]
