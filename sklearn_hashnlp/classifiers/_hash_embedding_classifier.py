"""HashEmbeddingClassifier: a classifier of sparse rows through hash embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from sklearn_hashnlp._device import Device, resolve_device
from sklearn_hashnlp._sklearn import MAX_INTEGER, Interval, StrOptions, fit_context, literal_options
from sklearn_hashnlp.classifiers._calibration import Calibration
from sklearn_hashnlp.classifiers._labels import Labels
from sklearn_hashnlp.classifiers._losses import (
    Calibrate,
    Loss,
    LossChoice,
    LossName,
    TreeLoss,
    class_shares,
    make_loss,
    takes_soft_labels,
)
from sklearn_hashnlp.classifiers._net_classifier import CLASSIFIER_TRAINING, ClassWeight, Monitor
from sklearn_hashnlp.classifiers.hash_embedding._auto_parameters import (
    SolverChoice,
    adds_log_odds,
    automatic_loss,
    check_parameters,
    choose_solver,
    net_architecture,
    resolve_batch_size,
    resolve_epochs,
    trains_to_convergence,
    warn_of_printers,
)
from sklearn_hashnlp.classifiers.hash_embedding._dual_fit import fit_dual, start_log_odds
from sklearn_hashnlp.classifiers.hash_embedding._embedding_tables import EmbeddingTables
from sklearn_hashnlp.classifiers.hash_embedding._fitted import FittedHashEmbedding
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows, canonical_rows
from sklearn_hashnlp.kernels.embeddings._tables import Aggregation, Norm, Variant
from sklearn_hashnlp.training._fit_task import (
    atomic_fit,
    begin_without_epochs,
    reported_to_callbacks,
)
from sklearn_hashnlp.training._settings import (
    AdaptiveOptimizer,
    EarlyStopping,
    Schedule,
    Seeds,
    TrainingSettings,
    as_schedule,
)
from sklearn_hashnlp.trees import SoftmaxTree
from sklearn_hashnlp.trees._tree_builders import ClassTree, class_tree

if TYPE_CHECKING:  # torch is imported where a net is trained
    from sklearn_hashnlp.classifiers.hash_embedding._sparse_net import SparseNet

_MAX_UNHASHED = 2**27  # columns with a row each: not a table of gigabytes by mistake
# For further training: after a fit of few rows, learning rates are still large.
_MIN_ROWS_PER_STEP = 64


class HashEmbeddingClassifier(FittedHashEmbedding):
    """Classify sparse rows, such as hashed n-gram counts, through hash embeddings.

    The embedding of a column combines ``n_hashes`` vectors of a shared pool, weighted by the
    column's own importance weights [1]_ [2]_. A document is the sum of the embeddings of its
    columns. A linear layer, or a small multi-layer perceptron, predicts its class. No vocabulary is
    stored, and the size of the model does not depend on the number of columns, which may be as
    large as 2**31 - 1 + 2**16.

    Parameters
    ----------
    variant : {"improved", "paper", "standard"}, default="improved"
        ``"improved"``: importance weights and component vectors are looked up by the column itself,
        an advantage if ``X`` has over ``n_embeddings`` columns. ``"paper"``: by the column hashed
        to ``n_embeddings`` rows: columns that collide share everything. ``"standard"``: hashing
        trick, one table of ``n_embeddings`` vectors.
    n_buckets : int, default=10**6
        Number of vectors in the shared pool; B in the paper. Ignored by ``variant="standard"``.
    n_hashes : int, default=2
        Number of component vectors per column; k in the paper. Ignored by ``variant="standard"``.
        In a small pool more help ``solver="sgd"``, which learns how much each counts; ``"dual"``
        gains nothing by them.
    n_embeddings : int, default=10**7
        Number of rows of the importance table; n (or K) in the paper.
    embedding_dim : int or "auto", default=20
        Dimension of the embeddings; d in the paper. ``"auto"``: the number of classes but at most
        32, from 1,024 classes on their square root but at most 128; rounded up to a multiple of 4;
        with hidden layers 20. Labels that ``partial_fit`` adds get more, without hidden layers.
    aggregation : {"sum", "concat", "median"}, default="sum"
        How the component vectors are combined. Ignored by ``variant="standard"``.
    normalize : {None, "l1", "l2"}, default="l2"
        Norm of a row's values times importance weights by which the sum of its embeddings is
        divided; None does not normalize, as the reference implementation.
    embedding : EmbeddingTables or None, default=None
        How the tables start, and whether they are trained: an :class:`EmbeddingTables`, None with
        its defaults.
    hidden_layer_sizes : tuple of int, default=()
        Sizes of the hidden layers between document vector and output, each with batch normalization
        and ReLU; the reference implementation has (1000, 1000, 1000).
    ngram_dropout : (int, int) or None, default=None
        In training each row keeps a random number of its columns, between these two inclusive; rows
        with fewer columns keep all. The reference implementation has (4, 99).
    loss : {"auto", "softmax", "ova", "hinge", "hsigmoid", "soft_softmax"}, default="softmax"
        - ``"auto"``: ``"ova"`` in multi-label classification; else ``"hinge"`` with at most 256
          classes and fewer than 20,000 rows, or 30,000 of two classes, or up to 200,000 of 16 to
          100 classes if at most 2 % of them have another label than most of the rows equal to them;
          else ``"softmax"``, also if the first call is ``partial_fit``. ``fit`` by stochastic
          gradients adds a tenth of naive Bayes' log-odds (with ``"hinge"`` a twentieth) to a sum of
          embeddings with a dimension for each class, up to 200,000 rows. Further training keeps the
          loss.
        - ``"softmax"``: cross-entropy.
        - ``"ova"``: one-vs-rest binary cross-entropy, also for multi-label classification.
        - ``"hinge"``: one-vs-rest squared hinge loss, as in a linear support vector machine.
        - ``"hsigmoid"``: hierarchical softmax, the cross-entropy of a decision at each inner node
          of ``tree``, whose leaves are the classes [3]_. It is faster from some thousands of
          classes on.
        - ``"soft_softmax"``: cross-entropy with soft labels, of which ``y`` has a probability for
          each class.
    solver : {"auto", "dual", "sgd"}, default="auto"
        - ``"dual"``: dual coordinate descent [5]_ finds the optimum of the squared hinge loss with
          an l2 penalty. Cross-validation, with 20,000 rows or more a sample, chooses the penalty
          and the weight of naive Bayes' log-odds, which are added to the weights; left-out rows
          fit the temperature. It keeps the initial importance weights, and raises an error if a
          parameter requires stochastic gradients.
        - ``"sgd"``: stochastic gradient descent on the same loss.
        - ``"auto"``: ``"dual"`` for the squared hinge loss, at most 200,000 rows and 256 classes,
          unless a parameter requires stochastic gradients: ``aggregation="median"``,
          ``normalize=None``, an ``embedding_dim`` below the number of classes, hidden layers, an
          ``embedding`` with ``importance_init="zeros"`` or a frozen table; ``device="cuda"``,
          ``warm_start``, ``early_stopping``, ``ngram_dropout``; a ``schedule``, ``optimizer``,
          ``learning_rate``, ``max_epochs`` or ``batch_size`` other than the default; or callbacks
          other than skorch's ``PrintLog`` and ``ProgressBar``, which the dual solver ignores with a
          warning, and functions, which it ignores without one. In a search over one of them set
          ``"sgd"`` for all points. ``partial_fit`` uses ``"sgd"``.
    tree : {"two_level", "huffman", "balanced", "complete", "random"} or SoftmaxTree, \
            default="two_level"
        Tree of the hierarchical softmax: a builder of :mod:`sklearn_hashnlp.trees`, which gets the
        frequencies of the labels (in ``partial_fit`` only their number); or a tree whose leaves are
        the labels in the order of ``classes_``. Only with ``loss="hsigmoid"``.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes: the loss of a row is multiplied by the weight of its label, 1 for
        labels that are not in the dict. ``"balanced"``:
        ``n_samples / (n_classes * number of rows of that label)``; not in ``partial_fit``. Must be
        None with an indicator matrix.
    calibrate : {"auto", "temperature"} or False, default="auto"
        Whether ``fit`` calibrates the probabilities, by temperature scaling [4]_: the logits are
        divided by ``temperature_``; and by moving the scores of short rows towards those of the
        class shares. ``"auto"`` fits the temperature and the length of a row that says half on
        left-out rows and their crops: the rows of the cross-validation, the validation set of
        ``early_stopping`` or, from 200 rows on, the last rows of the first epoch (a quarter, at
        most 1,000) before the net is trained on them, with scores times the growth of the scores of
        other rows. ``"temperature"`` fits the temperature only, which changes no label. False: the
        temperature is 1, or with ``loss="hinge"`` fitted on training rows, where the model is
        over-confident. With both, and with ``loss="hsigmoid"``, only rows of length 0 have the
        class shares, see Notes. ``partial_fit`` and ``warm_start`` update both numbers.
    optimizer : {"adagrad", "adam"}, default="adagrad"
        Row-wise AdaGrad; or Adam, which needs a smaller ``learning_rate`` (0.001 in [2]_).
    learning_rate : float, default=0.2
        Learning rate. With AdaGrad, hidden and output layers use a tenth of it if there are hidden
        layers. The ``n_hashes`` vectors of a column share it, if they start as zeros.
    schedule : Schedule, "auto" or None, default="auto"
        How the learning rate changes, and whether weights are averaged: a
        :class:`~sklearn_hashnlp.training.Schedule`. ``"auto"`` is a constant learning rate and
        ``average=True``; None a constant learning rate without average.
    max_epochs : int or "auto", default="auto"
        Number of epochs. ``"auto"``: from 20,000 rows on 1, or 20 with ``early_stopping``. With
        fewer rows the first steps of AdaGrad are small, and training ends when its loss no longer
        falls or is below a hundredth, or by ``early_stopping``, after at most 100 epochs or 500
        steps; 20 with a linear decay.
    batch_size : int or "auto", default="auto"
        Rows per batch. ``"auto"``: the power of two nearest to a 128th of the rows, from 32 to 256,
        on a GPU 1,024 for 20,000 rows or more; 32 in ``partial_fit``.
    early_stopping : False, "valid_acc", "valid_loss" or EarlyStopping, default=False
        Whether to stop training when a metric on a validation set, taken from the training rows, no
        longer improves, and keep the weights of the best epoch: accuracy (of a whole row of an
        indicator matrix) or loss, or an :class:`~sklearn_hashnlp.training.EarlyStopping` with
        patience and size. The loss is weighted by ``sample_weight`` and ``class_weight``, the
        accuracy is not. The only row of a label is not held out. With fewer than 20 validation
        rows, or fewer than labels, there is a warning, and training runs for ``max_epochs``.
    warm_start : bool, default=False
        Whether ``fit`` continues training from the weights of the previous call. The labels and the
        net's hyper-parameters must be the same.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Device to compute on; "auto" is a CUDA device if there is one. A net stays on its device.
    callbacks : list of skorch callbacks and functions, or None, default=None
        Passed to skorch: callbacks, their classes, or pairs of a name and either. They see the
        indices of the labels in ``classes_``. Gradients are sparse: they cannot be clipped, and
        callbacks that read them make training slower. Callbacks that read ``valid_loss`` or
        ``valid_acc`` need ``early_stopping`` or ``validation_data``. A function
        ``report(done, n_epochs, history)`` shows the progress: it is called before each batch and
        after each epoch with the number of epochs done, such as 1.25, the number of epochs, and a
        dict for each epoch that has begun.
    random_state : int, RandomState instance or None, default=None
        Seeds the hash functions, the initial weights, the validation set, the order of the rows and
        dropout. On a CPU the same int gives the same model bit for bit, for any number of threads.
    verbose : int, default=0
        0 prints nothing, 1 a line per epoch, 2 also a progress bar within an epoch, 3 also the
        settings. The dual solver prints one line.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels; for an indicator matrix the names of its columns if it is a data frame, else
        their indices.
    n_features_in_ : int
        Number of columns in ``fit`` or the first ``partial_fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if they were all strings.
    loss_ : {"softmax", "ova", "hinge", "hsigmoid", "fasttext_ova"}
        The loss that was minimized; ``"fasttext_ova"`` only after :func:`load_fasttext`.
    solver_ : {"dual", "sgd"}
        The solver that ran last.
    temperature_ : float
        Divisor of the logits, see ``calibrate``; 1 if it was not fitted, more than 1 if the scores
        are over-confident.
    n_parameters_ : int
        Number of parameters of the net: ``n_embeddings * n_hashes + n_buckets * embedding_dim``
        (for ``variant="standard"`` ``n_embeddings * embedding_dim``) plus the parameters of hidden
        and output layers.
    history_ : list of dict
        One entry per epoch or call of ``partial_fit``: ``epoch``, ``train_loss``, ``dur`` (seconds)
        and, with a validation set, ``valid_loss`` and ``valid_acc``; also the numbers that
        callbacks recorded. The dual solver has one entry: ``epoch``, ``dur``, the ``objective`` of
        the last weights before they are averaged, and the relative ``duality_gap``, an upper bound
        of its distance from the optimum.
    net_ : skorch.NeuralNetClassifier
        The trained net; ``net_.module_.bag`` is a :class:`sklearn_hashnlp.nn.HashEmbeddingBag`, and
        with ``loss="hsigmoid"`` ``net_.module_.head[-1]`` a
        :class:`sklearn_hashnlp.nn.HierarchicalSoftmax`.

    See Also
    --------
    make_text_classifier : Pipeline of vectorizer and classifier, which takes strings.
    sklearn_hashnlp.nn.HashEmbeddingBag : The embedding layer.

    Notes
    -----
    The pool is initialized with zeros (unless ``importance_init="zeros"``) and the output layer
    with a random orthogonal matrix, so that n-grams that do not occur in training contribute
    nothing. Training time and memory depend on the columns that occur, not on the size of the
    tables.

    Probabilities are the softmax of logits; in multi-label classification their sigmoids. The
    logits are the scores, for ``loss="ova"`` the logarithms of the scores' sigmoids unless ``y``
    was an indicator matrix, for ``"hsigmoid"`` log-probabilities, each divided by ``temperature_``.
    The scores of ``"hinge"`` need a temperature to become logits: ``partial_fit`` updates it, the
    previous one counting as much as the rows seen before, at most 10,000.

    The length of a row is the root of the sum of the squares of its known values, each times its
    importance weight, less the part that all training rows have: columns with values of one sign in
    all of them (but with ``calibrate="temperature"`` the whole sum), also if the row lacks it. The
    probabilities of a row of length 0 are the shares of the classes among all training rows.

    ``partial_fit`` and ``warm_start`` continue with the weights and the state of the optimizer.
    Pickles hold both; :func:`~sklearn_hashnlp.persistence.save_model` rounds the state unless
    ``training_state=True``.

    An interrupt (Ctrl-C) ends training early, and ``fit`` raises ``KeyboardInterrupt``. The model
    is then fitted with the current weights or their mean so far, with ``early_stopping`` with the
    weights of the best epoch. A second Ctrl-C stops at once. Any other error leaves the model as it
    was, except for weights that ``partial_fit`` or ``warm_start`` had started to update.

    References
    ----------
    .. [1] Svenstrup, Hansen & Winther (2017). Hash embeddings for efficient word representations.
           NIPS, arXiv:1709.03933, sections 2 and 5.
    .. [2] Dubois (2017). Hash-Embeddings, https://github.com/YannDubs/Hash-Embeddings (the improved
           variant).
    .. [3] Morin & Bengio (2005). Hierarchical probabilistic neural network language model. AISTATS,
           section 3.
    .. [4] Guo, Pleiss, Sun & Weinberger (2017). On calibration of modern neural networks. ICML,
           arXiv:1706.04599, section 4.2.
    .. [5] Hsieh, Chang, Lin, Keerthi & Sundararajan (2008). A dual coordinate descent method for
           large-scale linear SVM. ICML, algorithm 1.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
    >>> texts = ["a fine film", "too dull", "fine and funny", "dull, too long"]
    >>> labels = ["good", "bad", "good", "bad"]
    >>> classifier = HashEmbeddingClassifier(random_state=0)
    >>> model = make_pipeline(HashingVectorizer(), classifier)
    >>> model.fit(texts, labels).predict(["fine, funny film", "so dull"])
    array(['good', 'bad'], dtype='<U4')
    """

    _text_classifier: ClassVar[str] = "make_text_classifier()"
    _check_parameters = check_parameters
    _architecture = net_architecture
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CLASSIFIER_TRAINING | {
        "variant": [literal_options(Variant)],
        "n_buckets": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "n_hashes": [Interval(Integral, 1, 64, closed="both")],
        "n_embeddings": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "embedding_dim": [Interval(Integral, 1, MAX_INTEGER, closed="both"), StrOptions({"auto"})],
        "aggregation": [literal_options(Aggregation)],
        "normalize": [literal_options(Norm), None],
        "embedding": [EmbeddingTables, None],
        "ngram_dropout": [tuple, list, None],
        "loss": [literal_options(LossChoice)],
        "solver": [literal_options(SolverChoice)],
        "tree": [literal_options(ClassTree), SoftmaxTree],
        "batch_size": [Interval(Integral, 1, MAX_INTEGER, closed="both"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        *,
        variant: Variant = "improved",
        n_buckets: int = 10**6,
        n_hashes: int = 2,
        n_embeddings: int = 10**7,
        embedding_dim: int | Literal["auto"] = 20,
        aggregation: Aggregation = "sum",
        normalize: Norm | None = "l2",
        embedding: EmbeddingTables | None = None,
        hidden_layer_sizes: tuple[int, ...] | list[int] = (),
        ngram_dropout: tuple[int, int] | list[int] | None = None,
        loss: LossChoice = "softmax",
        solver: SolverChoice = "auto",
        tree: ClassTree | SoftmaxTree = "two_level",
        class_weight: ClassWeight = None,
        calibrate: Calibrate = "auto",
        optimizer: AdaptiveOptimizer = "adagrad",
        learning_rate: float = 0.2,
        schedule: Schedule | Literal["auto"] | None = "auto",
        max_epochs: int | Literal["auto"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        early_stopping: Literal[False] | Monitor | EarlyStopping = False,
        warm_start: bool = False,
        device: Device = "cpu",
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
        self.normalize = normalize
        self.embedding = embedding
        self.hidden_layer_sizes = hidden_layer_sizes
        self.ngram_dropout = ngram_dropout
        self.loss = loss
        self.solver = solver
        self.tree = tree
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.early_stopping = early_stopping
        self.warm_start = warm_start
        self.device = device
        self.callbacks = callbacks
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @reported_to_callbacks
    @atomic_fit
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        validation_data: tuple[Any, Any] | None = None,
    ) -> Self:
        """Train the classifier on rows and their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of finite numbers of any sign; computed in float32.
        y : array-like or lists of labels of shape (n_samples,), or \
                {array-like, sparse matrix, data frame} of shape (n_samples, n_classes)
            Labels: strings, integers or bools. With ``loss="ova"`` also multiple labels per row: a
            list of labels for each row, or an indicator matrix, 1 if a row has the label of that
            column, else 0. With ``loss="soft_softmax"`` the probability of each class: at least 0,
            with a sum of 1 in each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least 0: the loss of each row is multiplied by its weight; None
            is 1. Rows of weight 0 are ignored. With the dual solver larger weights mean less
            regularization.
        classes : array-like of shape (n_classes,), default=None
            The labels of the columns of ``y``, with ``loss="soft_softmax"``. None: the column names
            of a data frame, else 0 to n_classes - 1.
        validation_data : (X, y), default=None
            Rows and labels that are not trained on, with labels of ``y``: their loss and accuracy
            after each epoch are in ``history_``. With ``early_stopping`` they are the validation
            set, and no rows of ``X`` are held out; without, they do not change the model. The dual
            solver, which has no epochs, ignores them.

        Returns
        -------
        self : HashEmbeddingClassifier
        """
        if classes is not None and not takes_soft_labels(self.loss):
            raise ValueError(
                f"{type(self).__name__}.fit takes classes with loss='soft_softmax' only, for other "
                "losses y has the labels. For labels that are not in y yet, pass classes to "
                "partial_fit."
            )
        return self._learn(X, y, sample_weight, classes=classes, validation_data=validation_data)

    @fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train for one epoch on more rows; continue earlier calls of ``fit`` or ``partial_fit``.

        The learning rate is constant and there is no validation set: ``schedule``, ``max_epochs``
        and ``early_stopping`` have no effect. If training diverges, the weights learned before are
        lost as well.

        Parameters
        ----------
        X, y, sample_weight : array-like
            As in ``fit``.
        classes : array-like of shape (n_classes,), default=None
            All labels; required in the first call, unless ``y`` is a matrix. A later call may add
            some, ``[*model.classes_, "new"]``: sorted in, so that columns of probabilities move.

        Returns
        -------
        self : HashEmbeddingClassifier

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
        >>> model = HashEmbeddingClassifier(random_state=0)
        >>> X, y = np.eye(4), ["a", "b", "a", "b"]
        >>> for part in range(3):
        ...     model = model.partial_fit(X, y, classes=["a", "b", "c"])
        >>> model.predict(X).tolist(), len(model.history_)
        (['a', 'b', 'a', 'b'], 3)
        """
        return self._learn(X, y, sample_weight, classes=classes, partial=True)

    def _validate_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float32, multi_output=True, reset=reset
        )
        if not self._tables().hash_rows and self.n_features_in_ > _MAX_UNHASHED:
            raise ValueError(
                f"{type(self).__name__}(embedding=EmbeddingTables(hash_rows=False)) has a row for "
                f"each column, and X has {self.n_features_in_:,} columns. Count fewer, by "
                "n_features of the vectorizer, or set hash_rows=True."
            )
        return X, y

    def _dataset(
        self, X: Any, targets: NDArray[Any], weights: NDArray[np.float32] | None
    ) -> SparseRows:
        return SparseRows(canonical_rows(X, any_scale=self.normalize is not None), targets, weights)

    def _new_net(self, n_classes: int, y: Any | None, seeds: Seeds, device: str) -> SparseNet:
        from sklearn_hashnlp.classifiers.hash_embedding._sparse_net import make_net

        tree = None
        if self.loss == TreeLoss.name:
            counts = n_classes if y is None else np.unique(y, return_counts=True)[1]
            tree = class_tree(self.tree, counts, seed=seeds.module, caller=type(self).__name__)
        net = make_net(self._architecture(n_classes, seeds.hash), device, tree)
        return net.initialized(seeds.module)

    def _check_architecture(self) -> None:
        net = self.net_.architecture()
        loss = self.loss_ if self.loss == "auto" else self.loss
        wanted = self._architecture(net["num_classes"], net["hash_seed"]) | {"loss": loss}
        made_with = net | {"loss": self.loss_}
        wider = net["embedding_dim"] >= wanted["embedding_dim"]
        if self.embedding_dim == "auto" or (wider and self._calibration.has_added_labels):
            wanted["embedding_dim"] = net["embedding_dim"]
        if self.loss == TreeLoss.name:
            wanted["tree"] = self.tree
            tree = self.net_.get_params_for("module")["tree"]
            made_with["tree"] = tree if self._tree_name is None else self._tree_name
        self._check_unchanged(wanted, made_with)

    def _choose_loss(self, labels: Labels, rows: SparseRows | None, *, continues: bool) -> LossName:
        if self.loss != "auto":
            return self.loss
        if continues:
            return self._loss.name
        return automatic_loss(rows, len(labels.classes), multilabel=labels.multilabel)

    def _settings(self, n_rows: int, seed: int) -> TrainingSettings:
        schedule, stopping = as_schedule(self.schedule, Schedule(average=True)), self._stopping()
        device = resolve_device(self.device, caller=type(self).__name__)
        batch_size = resolve_batch_size(self.batch_size, n_rows, device)
        epochs: dict[str, Any] = {"early_stopping": stopping is not None, "decay": schedule.decay}
        return TrainingSettings.of(
            self,
            seed=seed,
            max_epochs=resolve_epochs(self.max_epochs, n_rows, batch_size=batch_size, **epochs),
            to_convergence=trains_to_convergence(self.max_epochs, n_rows, schedule.decay),
            batch_size=batch_size,
            schedule=schedule,
            early_stopping=stopping,
            progress_bar=self.verbose > 1,
        )

    def _batch_options(self, net: SparseNet) -> dict[str, Any]:
        return {
            "smallest": 2 if self.hidden_layer_sizes else 1,  # of batch normalization
            "dropout": self.ngram_dropout and tuple(map(int, self.ngram_dropout)),
        }

    @contextmanager
    def _prepared(
        self,
        net: SparseNet,
        rows: Any,
        calibration: Calibration,
        loss: Loss,
        settings: TrainingSettings,
    ) -> Iterator[dict[str, Any]]:
        """Initialize importance weights of new columns and first steps; add log-odds at the end."""
        starts = not settings.continues
        if starts:
            self._tree_name = (
                self.tree if self.loss == TreeLoss.name and isinstance(self.tree, str) else None
            )
        divisor = None if starts else self._idf_divisor
        self._idf_divisor = net.prepare_tables(
            rows, self._tables(), calibration, divisor, starts=starts
        )
        self.solver_ = "sgd"
        log_odds = eps = None
        has_all_rows = starts and not settings.partial
        if has_all_rows and adds_log_odds(self.get_params(), loss.name, len(rows)):
            log_odds = start_log_odds(net.linear_arrays(), rows)
        if settings.to_convergence and starts and not self.hidden_layer_sizes:
            eps = net.damped(loss, settings, class_shares(calibration.class_counts))
        yield {"eps": eps}
        if log_odds is not None:
            net.add_to_pool(*log_odds.result().increments(net.linear_arrays(), loss.name))
        if net.rows_per_step is None:
            smallest = _MIN_ROWS_PER_STEP if self.batch_size == "auto" else 1
            net.rows_per_step = max(settings.batch_size, smallest)

    def _is_solved(
        self, labels: Labels, rows: SparseRows, loss: LossName, seeds: Seeds, device: str
    ) -> bool:
        parameters = self.get_params(deep=False)
        n_classes = len(labels.classes)
        name = type(self).__name__
        if choose_solver(parameters, loss, len(rows), n_classes, device, caller=name) == "sgd":
            return False
        warn_of_printers(self.callbacks, caller=name)
        begin_without_epochs(self)
        start = perf_counter()
        model, minimum, self._idf_divisor = fit_dual(
            self._architecture(n_classes, seeds.hash, largest_dim=n_classes),
            rows,
            make_loss(loss),
            Calibration.of(rows, n_classes, calibrate=self.calibrate),
            importance_init=self._tables().importance_init,
            learning_rate=self.learning_rate,
            rows_per_step=resolve_batch_size(self.batch_size, len(rows)),
            seed=seeds.of_order(0),
            calibrate=self.calibrate,
        )
        objective, gap = minimum.objective, minimum.duality_gap
        if self.verbose:
            print(f"Dual coordinate descent: objective {objective:.6g}, duality gap {gap:.1e}")
        self._tree_name, self.solver_ = None, "dual"
        self._keep_labels(labels)
        record = {"epoch": 1, "objective": objective, "duality_gap": gap}
        self._keep_model(model, [record | {"dur": perf_counter() - start}])
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
