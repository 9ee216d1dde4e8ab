"""Text classification without a dictionary, as a scikit-learn classifier."""

from __future__ import annotations

from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, Final

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from sklearn_hashnlp._sklearn import Interval, StrOptions, fit_context
from sklearn_hashnlp.classifiers._base import LearningClassifier
from sklearn_hashnlp.classifiers._idf import start_from_document_frequency
from sklearn_hashnlp.classifiers._labels import Labels
from sklearn_hashnlp.classifiers._net import ClassifierNet
from sklearn_hashnlp.classifiers._sparse_net import SparseNet, make_net, net_from_state
from sklearn_hashnlp.classifiers._sparse_rows import SparseDataset, canonical_rows
from sklearn_hashnlp.training._batches import Dataset
from sklearn_hashnlp.training._parameters import check_parameters
from sklearn_hashnlp.training._settings import (
    Seeds,
    TrainingSettings,
    architecture,
    check_unchanged,
    streaming_plan,
    training_plan,
)
from sklearn_hashnlp.training._torch_scope import plain_torch
from sklearn_hashnlp.trees import SoftmaxTree
from sklearn_hashnlp.trees._named_tree import CLASS_TREES, class_tree

_OF_ALL: Final[dict[str, list[Any]]] = {
    "hidden_layer_sizes": [tuple, list],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "optimizer": [StrOptions({"adagrad", "adam"})],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "learning_rate_schedule": [StrOptions({"constant", "linear"})],
    "average": ["boolean"],
    "max_epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "max_time": [Interval(Real, 0, None, closed="neither"), None],
    "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "shuffle": ["boolean"],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "monitor": [StrOptions({"valid_acc", "valid_loss"})],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
    "lr_plateau": [tuple, list, None],
    "restore_best": ["boolean"],
    "checkpoint_dir": [str, PathLike, None],
    "warm_start": ["boolean"],
    "device": [StrOptions({"cpu", "cuda", "auto"})],
    "callbacks": [list, None],
    "random_state": ["random_state"],
    "verbose": [Interval(Integral, 0, 3, closed="both")],
}

OF_HASH_EMBEDDINGS: Final[dict[str, list[Any]]] = _OF_ALL | {
    "variant": [StrOptions({"improved", "paper", "standard"})],
    "n_buckets": [Interval(Integral, 1, 2**31 - 1, closed="both")],
    "n_hashes": [Interval(Integral, 1, 64, closed="both")],
    "n_embeddings": [Interval(Integral, 1, 2**31 - 1, closed="both")],
    "embedding_dim": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "aggregation": [StrOptions({"sum", "concat", "median"})],
    "append_weight": ["boolean"],
    "hash_rows": ["boolean"],
    "importance_init": [StrOptions({"idf", "ones", "zeros"})],
    "train_pool": ["boolean"],
    "train_importance": ["boolean"],
    "normalize": [StrOptions({"l1", "l2"}), None],
    "ngram_dropout": [tuple, list, None],
    "loss": [StrOptions({"softmax", "ova", "hinge", "hsigmoid"})],
    "tree": [StrOptions(set(CLASS_TREES)), SoftmaxTree],
}
"""Those of HashEmbeddingClassifier. What they must be together, :func:`check_parameters` tells."""

OF_DENSE_LAYERS: Final[dict[str, list[Any]]] = _OF_ALL | {
    "packed": ["boolean"],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "dropout": [Interval(Real, 0, 1, closed="left")],
    "input_dropout": [Interval(Real, 0, 1, closed="left")],
    "loss": [StrOptions({"softmax", "ova"})],
}
"""Those of SGNNClassifier."""


class HashEmbeddingClassifier(LearningClassifier):
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
    embedding_dim : int or "auto", default=20
        Length of a vector; d in the paper. ``"auto"``: the number of classes or 32, whichever is less, but from 1,024
        classes on the root of their number, at most 128; rounded up to a multiple of 4. With hidden layers 20.
    aggregation : {"sum", "concat", "median"}, default="sum"
        How the components are joined. Ignored by ``variant="standard"``.
    append_weight : bool, default=True
        Whether a document also holds the sum of its columns' importance. Ignored by ``variant="standard"``.
    hash_rows : bool, default=True
        Whether a column is hashed to its row of the importance table, or of the table of ``variant="standard"``. False
        takes the column itself, so that no two share a row: for a dictionary's columns, of which there must be at most
        ``n_embeddings`` then.
    importance_init : {"idf", "ones", "zeros"}, default="idf"
        What importance starts at. ``"idf"``: the inverse document frequency among the training rows, divided by its
        mean, and zero for columns that no training row has, which then change nothing. ``"ones"``: one. In both
        cases the pool starts at zero. ``"zeros"``: zero, and the pool is drawn with a standard deviation of 0.1, as in
        the source (where importance is drawn, too, at 0.0005). Ignored by ``variant="standard"``, whose table starts
        at zero.
    train_pool : bool, default=True
        Whether training changes the pool (the table, for ``variant="standard"``). False keeps it as it is: as a fit
        before left it, with ``warm_start``, or at zero.
    train_importance : bool, default=True
        Whether training changes the importance. False keeps it as ``importance_init`` says.
    normalize : {None, "l1", "l2"}, default="l2"
        By which norm of its columns, weighted by importance, a row's sum is divided; None is the source's plain sum.
    hidden_layer_sizes : tuple of int, default=()
        Hidden layers of the head, each batch-normalised and rectified; the source has (1000, 1000, 1000).
    ngram_dropout : (int, int) or None, default=None
        In training each row keeps a random number of its columns, between these two inclusive; shorter rows stay
        whole. The source has (4, 99).
    loss : {"softmax", "ova", "hinge", "hsigmoid"}, default="softmax"
        What training makes small. ``"softmax"``: cross-entropy. ``"ova"``: binary cross-entropy of each class against
        all others, which lets a row have any number of labels. ``"hinge"``: squared hinge loss of each class against
        all others, as in a linear support vector machine. ``"hsigmoid"``: cross-entropy again, with classes as the
        leaves of ``tree`` and a decision at each branching [3]_: a row costs the length of a path instead of a score a
        class, which pays from some thousands of classes on.
    tree : {"two_level", "huffman", "balanced", "complete", "random"} or SoftmaxTree, default="two_level"
        For ``loss="hsigmoid"`` alone: a builder of :mod:`sklearn_hashnlp.trees`, which is told how often each label
        occurs, in ``partial_fit`` only how many there are; or a tree over the labels in the order of ``classes_``.
    class_weight : dict, "balanced" or None, default=None
        What the loss of a row is multiplied by, according to its label; 1 for labels that the dict does not name.
        ``"balanced"``: by ``n_samples / (n_classes * number of rows of that label)``; not in ``partial_fit``. None with
        an indicator matrix.
    optimizer : {"adagrad", "adam"}, default="adagrad"
        Row-wise AdaGrad or row-wise Adam. Adam wants a smaller ``learning_rate``; the source has 0.001.
    learning_rate : float, default=0.2
        Step size; by AdaGrad, a head with hidden layers takes a tenth of it.
    learning_rate_schedule : {"constant", "linear"}, default="constant"
        ``"linear"``: the step size falls linearly to zero over ``max_epochs``. ``partial_fit`` keeps it constant.
    average : bool, default=True
        Whether ``fit`` ends with the mean of the weights over the last quarter of its steps: a single pass else ends
        where its last rows have pushed it. Not where rows are held out: the best epoch's weights are kept then.
    max_epochs : int or "auto", default="auto"
        Passes over the training rows. ``"auto"``: two, from 20,000 rows on one, and 20 with ``early_stopping``.
    max_time : float or None, default=None
        Seconds of training after which ``fit`` ends, though not before the first step. The linear schedule is cut short
        then, and before the last quarter of the steps there is no mean of the weights to end with.
    batch_size : int or "auto", default="auto"
        Rows a step. ``"auto"``: the power of two nearest to a 128th of the rows, at least 32 and at most 256; 32 in
        ``partial_fit``.
    shuffle : bool, default=True
        Whether each pass has an order of its own.
    early_stopping : bool, default=False
        Whether to hold out some training rows, stop when the model no longer gets better on them, and keep the weights
        of the best epoch. Where a class has a single row or fewer than 20 rows would be held out, nothing is, and
        training runs for ``max_epochs``.
    validation_fraction : float, default=0.05
        Share of the rows to hold out, stratified by class. Only with ``early_stopping``.
    monitor : {"valid_acc", "valid_loss"}, default="valid_acc"
        Which measure on the rows held out says what is better: accuracy (of a whole row of an indicator matrix), or
        loss. It decides on stopping, the weights that are kept and the plateau alike. Only with ``early_stopping``.
        The loss is weighted by ``sample_weight`` and ``class_weight``, the accuracy is not.
    n_iter_no_change : int or None, default=10
        Epochs without a better one after which training stops; None never stops early. Only with ``early_stopping``.
    lr_plateau : (int, float) or None, default=None
        Patience and factor: the step size is multiplied by the factor after so many epochs without a better one. The
        source has (4, 0.5). Only with ``early_stopping``.
    restore_best : bool, default=True
        Whether to end with the weights of the best epoch; False ends with the last. Only with ``early_stopping``.
    checkpoint_dir : str, path-like or None, default=None
        Folder in which the weights of the best epoch are kept while training runs; None keeps them in memory, and of
        the tables only the rows that change. Only with ``early_stopping``.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the weights that are there, if the labels and all that the net is made of are the
        same.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where to compute; "auto" takes a CUDA device where there is one, and goes on where a trained net is. On a CPU
        rows are scored on all processors.
    callbacks : list of skorch callbacks or None, default=None
        Handed to skorch as they are: callbacks, their classes or pairs of a name and one. They see class numbers, the
        places of the labels in ``classes_``. Those that clip gradients do not work: these are sparse. Any that look at
        gradients make training slower.
    random_state : int, RandomState instance or None, default=None
        Of hash functions, initial weights, order and dropout. The same int gives the same model to the last bit,
        whatever the number of threads (on a CPU).
    verbose : int, default=0
        0 is silent, 1 prints a line an epoch, 2 shows progress within an epoch as well, 3 also what is set up.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels; for an indicator matrix the numbers of its columns.
    n_features_in_ : int
        Columns seen in ``fit`` or in the first ``partial_fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they were all strings.
    n_parameters_ : int
        Numbers in the net: ``n_embeddings * n_hashes + n_buckets * embedding_dim`` (for ``variant="standard"``
        ``n_embeddings * embedding_dim``) and the head's, which without hidden layers are ``(width + 1) * n_classes``
        with ``width`` the length of a document's vector; with ``loss="hsigmoid"`` ``(width + 1) * tree.n_scores``.
    history_ : list of dict
        An entry an epoch, or a call of ``partial_fit``: ``epoch``, ``train_loss``, ``dur`` (seconds) and, where rows
        were held out, ``valid_loss`` and ``valid_acc``.
    net_ : skorch.NeuralNetClassifier
        The trained net; ``net_.module_.bag`` is a :class:`sklearn_hashnlp.nn.HashEmbeddingBag`, and with
        ``loss="hsigmoid"`` ``net_.module_.head[-1]`` a :class:`sklearn_hashnlp.nn.HierarchicalSoftmax`, which has the
        ``tree``. Of a model that was
        loaded or copied, ``net_.history`` holds what ``history_`` holds, and neither batches nor callbacks are kept.

    See Also
    --------
    make_text_classifier : The whole way from strings to labels.
    sklearn_hashnlp.nn.HashEmbeddingBag : The embedding alone.

    Notes
    -----
    The pool starts at zero (but for ``importance_init="zeros"``) and the head at a random orthogonal matrix, so an
    n-gram that was never seen in training adds nothing. Steps and memory grow with the columns that occur, not with the
    size of the tables.

    Probabilities are the softmax of the scores for ``loss="softmax"``; for ``"hsigmoid"`` the scores are their
    logarithms; for ``"ova"`` sigmoids, divided by their sum
    unless ``y`` was an indicator matrix. For ``"hinge"`` they are the softmax of the scores times one number, fitted by
    maximum likelihood after training: on the rows held out by ``early_stopping``, or else on those trained on, where
    the model is surer than it should be. Hold rows out where probabilities count. In ``partial_fit`` the number found
    before counts as much as the rows seen before, 10,000 at most, and the call's rows move it by their share.

    What ``partial_fit`` and ``warm_start`` go on with are the weights and the state of the optimizer. Pickles and deep
    copies hold both. A model that was saved by :func:`~sklearn_hashnlp.persistence.save_model` holds the weights, and
    starts the optimizer anew unless it was saved with ``training_state=True``.

    An interrupt (Ctrl-C) ends ``fit`` early but in good order, with a warning: the model is the one reached so far, the
    mean so far with ``average``, or the best epoch's with ``early_stopping``, and ``history_`` holds the epochs that
    were finished.

    References
    ----------
    .. [1] Svenstrup, Hansen & Winther (2017). Hash embeddings for efficient word representations. NIPS,
           arXiv:1709.03933, sections 2 and 5.
    .. [2] Dubois (2017). Hash-Embeddings, https://github.com/YannDubs/Hash-Embeddings (the improved variant).
    .. [3] Morin & Bengio (2005). Hierarchical probabilistic neural network language model. AISTATS, section 3.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
    >>> texts = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through"]
    >>> model = make_pipeline(HashingVectorizer(), HashEmbeddingClassifier(random_state=0))
    >>> model.fit(texts, ["good", "bad", "good", "bad"]).predict(["fine and funny", "so dull"])
    array(['good', 'bad'], dtype='<U4')
    """

    net_: SparseNet
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = OF_HASH_EMBEDDINGS
    _of_texts: ClassVar[str] = "make_text_classifier()"
    _if_not_diverged: ClassVar[str] = "values in X are too large for normalize=None: scale them down"
    _idf_divisor: float | None
    _tree_name: str | None = None

    def __init__(
        self,
        *,
        variant: str = "improved",
        n_buckets: int = 10**6,
        n_hashes: int = 2,
        n_embeddings: int = 10**7,
        embedding_dim: int | str = 20,
        aggregation: str = "sum",
        append_weight: bool = True,
        hash_rows: bool = True,
        importance_init: str = "idf",
        train_pool: bool = True,
        train_importance: bool = True,
        normalize: str | None = "l2",
        hidden_layer_sizes: tuple[int, ...] | list[int] = (),
        ngram_dropout: tuple[int, int] | list[int] | None = None,
        loss: str = "softmax",
        tree: str | SoftmaxTree = "two_level",
        class_weight: dict[Any, float] | str | None = None,
        optimizer: str = "adagrad",
        learning_rate: float = 0.2,
        learning_rate_schedule: str = "constant",
        average: bool = True,
        max_epochs: int | str = "auto",
        max_time: float | None = None,
        batch_size: int | str = "auto",
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.05,
        monitor: str = "valid_acc",
        n_iter_no_change: int | None = 10,
        lr_plateau: tuple[int, float] | list[float] | None = None,
        restore_best: bool = True,
        checkpoint_dir: str | PathLike[str] | None = None,
        warm_start: bool = False,
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
        self.hash_rows = hash_rows
        self.importance_init = importance_init
        self.train_pool = train_pool
        self.train_importance = train_importance
        self.normalize = normalize
        self.hidden_layer_sizes = hidden_layer_sizes
        self.ngram_dropout = ngram_dropout
        self.loss = loss
        self.tree = tree
        self.class_weight = class_weight
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.learning_rate_schedule = learning_rate_schedule
        self.average = average
        self.max_epochs = max_epochs
        self.max_time = max_time
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.monitor = monitor
        self.n_iter_no_change = n_iter_no_change
        self.lr_plateau = lr_plateau
        self.restore_best = restore_best
        self.checkpoint_dir = checkpoint_dir
        self.warm_start = warm_start
        self.device = device
        self.callbacks = callbacks
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> HashEmbeddingClassifier:
        """Train on rows and their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of finite numbers of any sign; computed in float32.
        y : array-like of shape (n_samples,), or {array-like, sparse matrix} of shape (n_samples, n_classes)
            Labels: strings, integers or bools. With ``loss="ova"`` also an indicator matrix: 1 where a row has the
            label of that column, else 0.
        sample_weight : array-like of shape (n_samples,), default=None
            What the loss of each row is multiplied by, at least 0; None is 1. Rows of weight 0 are left out.

        Returns
        -------
        HashEmbeddingClassifier
            Itself.

        Raises
        ------
        ValueError
            If a parameter, ``X``, ``y`` or ``sample_weight`` is not as described, ``y`` has one class only or others
            than ``tree``, ``X`` has
            more than 2**31 - 1 columns or, with ``normalize=None``, a value larger than 1e15, if training diverges, or
            if ``warm_start`` is set and the labels, the device or the net's parameters are not those of the fit before.
        RuntimeError
            If ``device="cuda"`` and torch finds no CUDA device.
        """
        self._fit(X, y, sample_weight)
        return self

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> HashEmbeddingClassifier:
        """Train on more rows, once over them, going on from what was learned before by ``fit`` or ``partial_fit``.

        The step size is constant and no rows are held out: ``learning_rate_schedule``, ``average``, ``max_epochs``,
        ``max_time``, ``early_stopping`` and what hangs on it have no effect. Memory grows by ``history_`` alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of finite numbers of any sign; computed in float32.
        y : array-like of shape (n_samples,), or {array-like, sparse matrix} of shape (n_samples, n_classes)
            Labels, as in ``fit``.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come. Needed in the first call, but for an indicator matrix.
        sample_weight : array-like of shape (n_samples,), default=None
            As in ``fit``.

        Returns
        -------
        HashEmbeddingClassifier
            Itself.

        Raises
        ------
        ValueError
            As in ``fit``; if ``classes`` is missing in the first call, or other labels come later; or if
            ``class_weight="balanced"``. If training diverges, what was learned before is lost as well.
        RuntimeError
            If ``device="cuda"`` and torch finds no CUDA device.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
        >>> model = HashEmbeddingClassifier(random_state=0)
        >>> for part in range(3):
        ...     model = model.partial_fit(np.eye(4), ["a", "b", "a", "b"], classes=["a", "b", "c"])
        >>> model.predict(np.eye(4)).tolist(), len(model.history_)
        (['a', 'b', 'a', 'b'], 3)
        """
        self._partial_fit(X, y, classes, sample_weight)
        return self

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _read_rows(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        self._refuse_texts(X)
        return validate_data(self, X, y, accept_sparse="csr", dtype=np.float32, multi_output=True, reset=reset)

    def _labelled_rows(self, X: Any, targets: NDArray[Any], weights: NDArray[np.float32] | None) -> SparseDataset:
        return SparseDataset(canonical_rows(X, any_scale=self.normalize is not None), targets, weights)

    def _rows(self, X: Any) -> SparseDataset:
        self._refuse_texts(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        return SparseDataset(canonical_rows(X, any_scale=self.net_.module_.bag.normalize is not None))

    def _make_net(self, labels: Labels, y: Any | None, seeds: Seeds, device: str) -> SparseNet:
        tree = None
        if self.loss == "hsigmoid":
            counts = len(labels.classes) if y is None else np.unique(y, return_counts=True)[1]
            tree = class_tree(self.tree, counts, seed=seeds.module, caller=type(self).__name__)
        return make_net(architecture(self, len(labels.classes), seeds.hash), device, tree)

    def _check_unchanged(self) -> None:
        made_of = self.net_.get_params_for("module") | {"loss": self._probabilities.loss}
        if self._tree_name is not None:
            made_of["tree"] = self._tree_name
        wanted = architecture(self, made_of["num_classes"], made_of["hash_seed"]) | {
            "loss": self.loss,
            "tree": self.tree if self.loss == "hsigmoid" else None,
        }
        check_unchanged(self, wanted, made_of, self.net_.device)

    def _plan(self, n_rows: int, seed: int) -> TrainingSettings:
        return training_plan(self, n_rows, seed)

    def _streaming_plan(self, seed: int) -> TrainingSettings:
        return streaming_plan(self, seed)

    def _train(
        self,
        net: ClassifierNet,
        labels: Labels,
        rows: Dataset,
        valid_rows: Dataset | None,
        plan: TrainingSettings,
        known_rows: int = 0,
    ) -> None:
        assert isinstance(rows, SparseDataset)
        if not self.hash_rows and self.n_features_in_ > self.n_embeddings:
            raise ValueError(
                f"{type(self).__name__}(hash_rows=False) has a row for each of n_embeddings={self.n_embeddings} "
                f"columns, but X has {self.n_features_in_}. Raise n_embeddings, keep fewer columns, or set "
                "hash_rows=True."
            )
        bag, fresh = net.module_.bag, self._is_fresh(net)
        tree_name, divisor = (None, None) if fresh else (self._tree_name, self._idf_divisor)
        if fresh and self.loss == "hsigmoid" and isinstance(self.tree, str):
            tree_name = self.tree
        if self.importance_init == "idf" and self.variant != "standard":
            seen = len(rows) + (0 if fresh else self._rows_seen)
            with plain_torch(torch.device(net.device).type):
                divisor = start_from_document_frequency(bag, rows.indices, seen, divisor)
        bag.pool.requires_grad_(bool(self.train_pool))
        if bag.importance is not None:
            bag.importance.requires_grad_(bool(self.train_importance))
        super()._train(net, labels, rows, valid_rows, plan, known_rows)
        self._tree_name, self._idf_divisor = tree_name, divisor

    def _most_probable(self, X: Any) -> NDArray[np.int64]:
        return self._best(X, 1)[1][:, 0] if self._probabilities.loss == "hsigmoid" else super()._most_probable(X)

    def _topk(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if self._probabilities.loss != "hsigmoid":
            return super()._topk(X, k)
        log_probs, numbers = self._best(X, k)
        return np.exp(log_probs), numbers

    def _best(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        rows = self._rows(X)
        with plain_torch(torch.device(self.net_.device).type):
            log_probs, numbers = self.net_.best_classes(rows, k)
        self._check_finite(log_probs)
        return log_probs, numbers

    @staticmethod
    def _net_from_state(
        values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]
    ) -> SparseNet:
        return net_from_state(values, arrays, history)

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        values, arrays = super()._get_model_state()
        return values | {"idf_divisor": self._idf_divisor, "tree_name": self._tree_name}, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._set_model_state(values, arrays)
        self._idf_divisor = values.get("idf_divisor", 1.0)
        self._tree_name = values.get("tree_name")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = self.loss == "ova"
        return tags
