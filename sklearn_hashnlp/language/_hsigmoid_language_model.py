"""HsigmoidLanguageModel: a neural n-gram language model with hierarchical softmax."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from skorch.callbacks import Callback
from torch import Tensor

from sklearn_hashnlp._device import Device, resolve_device
from sklearn_hashnlp._sklearn import (
    MAX_INTEGER,
    Interval,
    Options,
    StrOptions,
    fit_context,
    literal_options,
)
from sklearn_hashnlp.language._corpus import VOCABULARY, word_encoder_of
from sklearn_hashnlp.language._language_net import (
    DAMPING,
    LanguageNet,
    SeedEpochs,
    WindowDataset,
    WordTree,
    language_tree,
    learned_tree,
    make_language_net,
)
from sklearn_hashnlp.language._language_parameters import (
    EMBEDDINGS,
    PARTIAL_FIT_RATE,
    Auto,
    Regularization,
    as_regularization,
    auto_settings,
    check_parameters,
    check_same_network,
    check_same_training,
    embedding_architecture,
    language_architecture,
    learning_rate_factors,
    schedule_of,
    small_network,
    stopping_of,
    warm_start_rate,
)
from sklearn_hashnlp.language._neural_language_model import NeuralLanguageModel
from sklearn_hashnlp.language._tokenizer import Padding, TrainingData, read_training_data
from sklearn_hashnlp.nn._nplm import HASHED_DIRECT, HIDDEN_LAYERS, Initialization, Softmax
from sklearn_hashnlp.training._callbacks import StepLog, TimeLimit, callbacks_of_kind, epoch_reports
from sklearn_hashnlp.training._checkpoints import (
    Checkpoints,
    SaveCheckpoints,
    best_epoch,
    storable_copy,
)
from sklearn_hashnlp.training._fit import Resumed, fit_net
from sklearn_hashnlp.training._fit_task import atomic_fit, reported_to_callbacks
from sklearn_hashnlp.training._optimizer_state import OptimizerName
from sklearn_hashnlp.training._optimizers import undone_on_error
from sklearn_hashnlp.training._settings import (
    TRAINING,
    EarlyStopping,
    Schedule,
    Seeds,
    TrainingSettings,
    draw_seeds,
)
from sklearn_hashnlp.training._torch_scope import plain_torch
from sklearn_hashnlp.trees import SoftmaxTree

OutputLayer: TypeAlias = Literal["hsigmoid", Softmax]


class HsigmoidLanguageModel(NeuralLanguageModel):
    """Predict the next word by a feed-forward n-gram neural network with hierarchical softmax.

    The embeddings of the ``order - 1`` previous words are concatenated and passed through a hidden
    layer [1]_. The output layer is a tree whose inner nodes decide between branches [2]_, so that
    the time per word depends on the length of its path and not on the size of the vocabulary.
    Training also learns word embeddings.

    Parameters
    ----------
    order : int, default=5
        Length of the n-grams: the context and the predicted word.
    embedding_dim : int, default=64
        Dimension of the word embeddings; m in the paper.
    hidden_size : int, default=256
        Size of the hidden layer; h in the paper.
    output : {"hsigmoid", "softmax", "tied_softmax", "adaptive"}, default="hsigmoid"
        ``"hsigmoid"``: hierarchical softmax over ``tree``. ``"softmax"``: a score for every word;
        its time grows with the vocabulary. ``"tied_softmax"``: a softmax with the word embeddings
        as weights [6]_, after a linear layer from ``hidden_size`` to ``embedding_dim``; only with
        ``embedding="table"`` and without direct connections. ``"adaptive"``: torch's adaptive
        softmax.
    tree : str or SoftmaxTree, default="huffman"
        Tree of the hierarchical softmax: "huffman", "learned", "cluster", "binary_cluster",
        "complete", "balanced", "random" or "two_level", for a builder of
        :mod:`sklearn_hashnlp.trees`; or a tree over all words of ``vocabulary_`` except ``<s>``.
        ``"cluster"`` clusters words that occur in the same contexts into about 1.5 sqrt(V)
        clusters. ``"learned"``, with the best perplexity, first trains a small network with that
        tree for two epochs, and clusters words by its hidden states, as :meth:`learned_tree` does.
        ``"binary_cluster"`` is faster with very large vocabularies. Ignored by the other outputs.
    direct_connections : bool, "hashed" or ("hashed", int), default=False
        Whether the output layer also reads the word embeddings directly; W in the paper.
        ``"hashed"``: instead it adds the weights of the last word, the last two words, and so on,
        from a hash table of 2**22 weights [3]_; ``("hashed", n)``: of n weights. Only with
        ``output="hsigmoid"``.
    hidden_layer : {"tanh", "sigmoid", "residual"} or ("residual", int), default="tanh"
        Activation function of the hidden layer. ``"residual"``: no activation function but a
        residual block with layer normalization [5]_; ``("residual", n)``: n blocks.
    init : {"default", "uniform", "reference"}, default="default"
        Initialization of word embeddings and layers; see :class:`~sklearn_hashnlp.nn.NPLM`. With
        ``"default"`` the biases of the output layer are the logarithms of word counts.
    embedding : {"table", "ngrams", "hash", "sgnn"} or tuple, default="table"
        ``"table"``: an embedding for each word of the vocabulary. ``"ngrams"``: also a row of a
        hash table for the last two and the last three words at each word of the context [7]_;
        ``("ngrams", 2**18)`` sets the number of rows of each. ``"hash"``: hash embeddings, also of
        out-of-vocabulary words; ``("hash", 10**6, 10**5)`` sets the number of rows of the
        importance table and of vectors in the shared pool. ``"sgnn"``: a linear layer on the
        projections of a word's character n-grams [4]_, also for out-of-vocabulary words: similar
        spellings have similar embeddings; ``("sgnn", 80, 14)`` sets the number of projections and
        the bits of each. Try ``optimizer="adam"`` with these two.
    far_context : int, default=0
        Number of words before the ``order - 1`` previous words that are read as a bag of words
        [5]_: the average of their embeddings, and another average in which near words have larger
        weights. Contexts may be shorter.
    across_sentences : bool, default=False
        Whether ``far_context`` includes previous sentences: ``X`` is one text in order, words that
        are frequent in the last sentences become more probable, and the score of a sentence depends
        on previous sentences. Contexts may include earlier sentences, each ended by ``</s>``. The
        ``<s>`` at the start of each sentence count as ``far_context`` words, but are not averaged.
    vocabulary : dict of str to int or None, default=None
        Words and their ids 0, 1, 2, and so on; the three special tokens are added if they are
        missing. None learns the vocabulary in ``fit``, in the order of descending frequency.
    max_features : int or None, default=None
        Maximum number of words in the vocabulary, the most frequent ones, without the three special
        tokens.
    min_count : int, default=1
        Words that occur less often are replaced by ``<unk>``.
    special_tokens : (str, str, str), default=("<s>", "</s>", "<unk>")
        Start token, end token and unknown token; ``<s>``, ``</s>`` and ``<unk>`` on this page stand
        for them.
    padding : {"full", "reference"}, default="full"
        ``"full"``: each word of a sentence is predicted, and so is ``</s>``; contexts are padded
        with ``<s>``. This is the usual definition of perplexity. ``"reference"``: one ``<s>`` and
        no padding, so that the first words of a sentence are not predicted, and sentences that have
        less than ``order`` tokens, with ``<s>`` and ``</s>``, are skipped. Contexts for ``predict``
        and the ``start`` of ``sample`` then need ``order - 2`` words or more.
    regularization : Regularization, "auto" or None, default="auto"
        Dropout, weight decay and clipping of gradients. ``"auto"``: ``Regularization()``. None:
        none of them.
    optimizer : {"adagrad", "adam", "sgd"}, default="adagrad"
        Row-wise AdaGrad, with damped first steps of rare words, row-wise Adam, or stochastic
        gradient descent without momentum. Adam needs a smaller ``learning_rate``, such as 0.002,
        and SGD a larger one, such as 3.
    learning_rate : float or "auto", default="auto"
        Learning rate. ``"auto"``: 0.5 for AdaGrad, 0.002 for Adam, and a quarter of the root of the
        batch's words for SGD; after a ``fit``, a twelfth of it in ``partial_fit``, and with
        ``warm_start`` a quarter for as much text as before, less for less text.
    schedule : LanguageSchedule, Schedule, "auto" or None, default="auto"
        How the learning rate changes: a :class:`LanguageSchedule` or a
        :class:`~sklearn_hashnlp.training.Schedule`. ``"auto"``: a linear decay after a warmup of
        100 steps. None: a constant learning rate.
    max_epochs : int or "auto", default="auto"
        Number of epochs. ``"auto"``: 5.
    batch_size : int or "auto", default="auto"
        Predicted words per batch. ``"auto"``: the power of two nearest to a 128th of the predicted
        words, at least 32 and at most 512; later calls of ``partial_fit``, or of ``fit`` with
        ``warm_start``, keep that of the first.
    early_stopping : False, "valid_loss" or EarlyStopping, default=False
        Whether to stop when the validation loss does not decrease, and to restore the weights of
        the best epoch. The validation set is ``X_valid``, or else a part of the sentences of ``X``.
        ``"valid_loss"``: an :class:`~sklearn_hashnlp.training.EarlyStopping` with
        ``monitor="valid_loss"``, ``patience=2`` and ``validation_fraction=0.1``.
    checkpoint_dir : str, path-like, (path, "all") or None, default=None
        Folder for checkpoints after every epoch, ``epoch-00001`` and so on, which
        :func:`~sklearn_hashnlp.persistence.load_model` loads. Keeps the last epoch and the best by
        validation loss (or training loss without a validation set); ``(path, "all")`` keeps all.
        The folder must not contain checkpoints of an earlier training unless ``resume`` is set.
    resume : bool, default=False
        Whether ``fit`` resumes a training in ``checkpoint_dir``, if any. On a CPU the weights
        equal, bit for bit, the weights of an uninterrupted training. Sentences and parameters must
        be the same; other sentences raise an error. ``max_epochs`` may change: from there on the
        learning rate follows the linear decay over the new number of epochs; the weights differ
        from a training with this number from the start, unless the learning rate is constant. Not
        with a schedule that averages the weights.
    warm_start : bool, default=False
        Whether ``fit`` continues training from the weights and the vocabulary of the previous call.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Device to compute on; "auto" is a CUDA device if there is one.
    callbacks : list of skorch callbacks and functions, or None, default=None
        Passed to skorch, such as :class:`~sklearn_hashnlp.training.TimeLimit` and
        :class:`~sklearn_hashnlp.training.StepLog`. Set ``Regularization(max_grad_norm=...)``
        instead of ``GradientNormClipping``, and ``schedule=None`` with an ``LRScheduler``, since
        the rates are multiplied. A function reports the progress, as that of a
        :class:`~sklearn_hashnlp.classifiers.HashEmbeddingClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seeds the initial weights, the tree, the validation set, the order of the n-grams and
        dropout. On a CPU the same int gives the same model bit for bit, for any number of threads.
    verbose : int, default=0
        0 prints nothing, 1 a line per epoch, 2 also the entries of ``log_``, 3 also the data, the
        net and the settings.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The words and their ids: rows of ``embeddings_`` and columns of ``predict_proba``. The last
        is ``<s>``, which is never predicted.
    special_tokens_ : tuple of (str, str, str)
        The start and the end of a sentence, and the unknown word.
    reads_across_sentences_ : bool
        Whether the score of a sentence depends on the sentences before it.
    embeddings_ : ndarray of float32 of shape (n_words, embedding_dim)
        The word embeddings, in the order of ``vocabulary_``.
    history_ : list of dict
        One entry per epoch or call of ``partial_fit``: ``epoch``, ``train_loss``,
        ``train_perplexity``, ``dur`` (seconds) and, with a validation set, ``valid_loss`` and
        ``valid_perplexity``; also the numbers that callbacks recorded.
    log_ : list of dict
        The entries of the callback :class:`~sklearn_hashnlp.training.StepLog`: ``epoch``, ``step``,
        ``train_loss`` and ``valid_loss``; empty without it.
    batch_size_, learning_rate_, max_epochs_ : int, float, int
        The batch size, the learning rate and the number of epochs of the last training, where
        ``"auto"`` is resolved.
    n_parameters_ : int
        Number of parameters of the net.
    net_ : skorch.NeuralNet
        The trained net; ``net_.module_`` is a :class:`~sklearn_hashnlp.nn.NPLM`.

    Notes
    -----
    Scores and perplexities include ``</s>`` and, as ``<unk>``, out-of-vocabulary words; compare
    only models with the same vocabulary, since a small vocabulary makes the perplexity low. With
    ``output="hsigmoid"`` on a CPU, the score of a sentence does not depend, bit for bit, on the
    other sentences scored with it.

    An interrupt (Ctrl-C) ends training early, and ``fit`` raises ``KeyboardInterrupt``. The model
    is then fitted, with the current weights or, with ``early_stopping``, the weights of the best
    epoch, and ``history_`` has the completed epochs. A second Ctrl-C stops at once. Any other
    error, and an interrupt before the first epoch, leaves a new model unfitted and a fitted one
    unchanged.

    References
    ----------
    .. [1] Bengio, Ducharme, Vincent & Jauvin (2003). A neural probabilistic language model. JMLR 3.
    .. [2] Morin & Bengio (2005). Hierarchical probabilistic neural network language model. AISTATS.
    .. [3] Mikolov, Deoras, Povey, Burget & Černocký (2011). Strategies for training large scale
           neural network language models. ASRU.
    .. [4] Ravi & Kozareva (2018). Self-governing neural networks for on-device short text
           classification. EMNLP.
    .. [5] Sun & Iyyer (2021). Revisiting simple neural probabilistic language models. NAACL.
    .. [6] Press & Wolf (2017). Using the output embedding to improve language models. EACL.
    .. [7] Cheng et al. (2026). Conditional memory via scalable lookup: a new axis of sparsity for
           large language models. arXiv:2601.07372.

    Examples
    --------
    >>> from sklearn_hashnlp.language import HsigmoidLanguageModel
    >>> sentences = [
    ...     "the cat sat on the mat",
    ...     "the dog sat on the rug",
    ...     "a cat saw the dog",
    ... ]
    >>> model = HsigmoidLanguageModel(
    ...     order=3,
    ...     embedding_dim=8,
    ...     hidden_size=16,
    ...     max_epochs=100,
    ...     random_state=0,
    ... )
    >>> model.fit(sentences).predict(["the cat sat", "a cat saw"]).tolist()
    ['on', 'the']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = (
        TRAINING
        | VOCABULARY
        | {
            "checkpoint_dir": [str, PathLike, tuple, list, None],
            "order": [Interval(Integral, 2, MAX_INTEGER, closed="both")],
            "embedding_dim": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
            "hidden_size": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
            "output": [literal_options(OutputLayer)],
            "tree": [literal_options(WordTree), SoftmaxTree],
            "direct_connections": ["boolean", StrOptions(set(HASHED_DIRECT)), tuple, list],
            "hidden_layer": [StrOptions(set(HIDDEN_LAYERS)), tuple, list],
            "init": [literal_options(Initialization)],
            "embedding": [StrOptions(set(EMBEDDINGS)), tuple, list],
            "far_context": [Interval(Integral, 0, MAX_INTEGER, closed="both")],
            "across_sentences": ["boolean"],
            "padding": [literal_options(Padding)],
            "regularization": [Regularization, StrOptions({"auto"}), None],
            "learning_rate": [*TRAINING["learning_rate"], StrOptions({"auto"})],
            "schedule": [Schedule, StrOptions({"auto"}), None],
            "optimizer": [literal_options(OptimizerName)],
            "max_epochs": [Interval(Integral, 1, MAX_INTEGER, closed="both"), StrOptions({"auto"})],
            "batch_size": [Interval(Integral, 1, MAX_INTEGER, closed="both"), StrOptions({"auto"})],
            "early_stopping": [EarlyStopping, StrOptions({"valid_loss"}), Options(bool, {False})],
            "resume": ["boolean"],
        }
    )

    _check_parameters = check_parameters
    _stopping = stopping_of

    def __init__(
        self,
        *,
        order: int = 5,
        embedding_dim: int = 64,
        hidden_size: int = 256,
        output: OutputLayer = "hsigmoid",
        tree: WordTree | SoftmaxTree = "huffman",
        direct_connections: bool | Literal["hashed"] | tuple[str, int] = False,
        hidden_layer: Literal["tanh", "sigmoid", "residual"] | tuple[str, int] = "tanh",
        init: Initialization = "default",
        embedding: Literal["table", "ngrams", "hash", "sgnn"]
        | tuple[str, *tuple[int, ...]] = "table",
        far_context: int = 0,
        across_sentences: bool = False,
        vocabulary: dict[str, int] | None = None,
        max_features: int | None = None,
        min_count: int = 1,
        special_tokens: tuple[str, str, str] | list[str] = ("<s>", "</s>", "<unk>"),
        padding: Padding = "full",
        regularization: Regularization | Auto | None = "auto",
        optimizer: OptimizerName = "adagrad",
        learning_rate: float | Auto = "auto",
        schedule: Schedule | Auto | None = "auto",
        max_epochs: int | Auto = "auto",
        batch_size: int | Auto = "auto",
        early_stopping: Literal[False, "valid_loss"] | EarlyStopping = False,
        checkpoint_dir: str | PathLike[str] | tuple[str | PathLike[str], str] | None = None,
        resume: bool = False,
        warm_start: bool = False,
        device: Device = "cpu",
        callbacks: list[Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.order = order
        self.embedding_dim = embedding_dim
        self.hidden_size = hidden_size
        self.output = output
        self.tree = tree
        self.direct_connections = direct_connections
        self.hidden_layer = hidden_layer
        self.init = init
        self.embedding = embedding
        self.far_context = far_context
        self.across_sentences = across_sentences
        self.vocabulary = vocabulary
        self.max_features = max_features
        self.min_count = min_count
        self.special_tokens = special_tokens
        self.padding = padding
        self.regularization = regularization
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.early_stopping = early_stopping
        self.checkpoint_dir = checkpoint_dir
        self.resume = resume
        self.warm_start = warm_start
        self.device = device
        self.callbacks = callbacks
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @reported_to_callbacks
    @atomic_fit
    def fit(self, X: Any, y: Any = None, X_valid: Any = None) -> Self:
        """Train the model on sentences.

        Parameters
        ----------
        X : iterable of (str or iterable of str), path-like or callable
            Sentences: strings, which are split at white space, or lists of words. A path-like
            object such as ``pathlib.Path``: a text file in UTF-8, possibly compressed, with one
            sentence per line; blank lines are skipped. A callable without arguments, a reader,
            returns an iterator of sentences or, with ``vocabulary``, of tuples or arrays of
            ``order`` word ids: a context and the next word. ``<s>`` at the start of a sentence and
            ``</s>`` at its end are ignored, since they are added to every sentence; elsewhere they
            are unknown words.
        y : Ignored
        X_valid : as X, default=None
            Validation sentences, evaluated after every epoch. None with ``early_stopping``: a part
            of ``X``.

        Returns
        -------
        self : HsigmoidLanguageModel
        """
        return self._learn(X, X_valid)

    @fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Train for one epoch on more sentences, continuing from ``fit`` or ``partial_fit``.

        The learning rate is constant after a warmup in the first call of a new model, and there is
        no validation set: ``max_epochs``, ``early_stopping``, ``checkpoint_dir``, and ``decay``,
        ``plateau`` and ``average`` of ``schedule`` have no effect. After a ``fit``,
        ``learning_rate="auto"`` is a twelfth.

        Parameters
        ----------
        X : iterable of (str or iterable of str), path-like or callable
            Sentences, as in ``fit``. The first call fixes the vocabulary, unless ``vocabulary`` is
            set.
        y : Ignored

        Returns
        -------
        self : HsigmoidLanguageModel
        """
        return self._learn(X, partial=True)

    def _learn(self, X: Any, X_valid: Any = None, *, partial: bool = False) -> Self:
        """Train on sentences, from the start or on; ``partial`` for a call of ``partial_fit``."""
        self._check_parameters()
        device = resolve_device(self.device, caller=type(self).__name__)
        continues = hasattr(self, "net_") and (partial or bool(self.warm_start))
        checkpoints = None if partial else Checkpoints.of(self)
        if checkpoints is not None:
            model = checkpoints.begin(self, n_epochs=len(self.history_) if continues else 0)
            if model is not None:
                return self._resume(checkpoints, model, X, X_valid)
        seeds, stopping = draw_seeds(self.random_state), None if partial else self._stopping()
        tokenizer = self._tokenizer if continues else None
        corpus = self._read(X, X_valid, seeds, stopping=stopping, tokenizer=tokenizer)
        if continues:
            check_same_network(self, self.net_, self._tokenizer)
        began = time.monotonic()
        net = self._net if continues else self._new_net(corpus, seeds, device)
        self._seeds, self._first_epoch = seeds, len(net.history)
        n_windows, n_before = len(corpus.windows), self._n_fitted if continues else 0
        if partial:
            settings = self._settings(net, corpus, PARTIAL_FIT_RATE if n_before else 1.0)
            settings = settings.single_epoch(warmup_steps=settings.schedule.warmup_steps)
            self._n_fitted = n_before + n_windows if n_before else 0
        else:
            settings = self._settings(net, corpus, warm_start_rate(n_windows, n_before))
            # The larger number, not the sum: it may be the same text again.
            self._n_fitted = max(n_windows, n_before)
        spent = time.monotonic() - began  # by the small network of a learned tree
        return self._train(net, corpus, settings, checkpoints, seconds_spent=spent)

    def _settings(
        self, net: LanguageNet, corpus: TrainingData, rate_factor: float = 1.0
    ) -> TrainingSettings:
        first_batch_size = self.batch_size_ if self._trains_further(net) else None
        settings = auto_settings(self, len(corpus.windows), first_batch_size, rate_factor)
        return TrainingSettings.of(self, seed=self._seeds.order, **settings)

    def _read(self, X: Any, X_valid: Any, seeds: Seeds, **options: Any) -> TrainingData:
        encoder = word_encoder_of(embedding_architecture(self, seeds.hash))
        return read_training_data(
            self, X, X_valid, word_encoder=encoder, split_seed=seeds.split, **options
        )

    def _trains_further(self, net: LanguageNet) -> bool:
        return hasattr(self, "net_") and net is self.net_

    def _new_net(self, corpus: TrainingData, seeds: Seeds, device: str) -> LanguageNet:
        vocabulary = corpus.tokenizer.vocabulary
        name = type(self).__name__
        tree = None
        if self.output == "hsigmoid" and self.tree == "learned":
            tree = self._learn_tree(corpus, seeds, device)
        elif self.output == "hsigmoid":
            tree = language_tree(
                self.tree, corpus.windows, vocabulary.n_classes, seed=seeds.hash, caller=name
            )
        net = make_language_net(language_architecture(self, vocabulary, seeds.hash), tree, device)
        net.initialized(seeds.module)
        if self.init == "default":
            with plain_torch(device):
                net.module_.init_bias(np.bincount(corpus.windows.y, minlength=vocabulary.n_classes))
        return net

    def _learn_tree(self, corpus: TrainingData, seeds: Seeds, device: str) -> SoftmaxTree:
        """Train a small net with the co-occurrence tree, and cluster words by its hidden states."""
        small = HsigmoidLanguageModel(**small_network(self))
        small._seeds, small._first_epoch = seeds, 0
        net = small._new_net(corpus, seeds, device)
        small._train(net, corpus._replace(valid_windows=None), small._settings(net, corpus), None)
        n_classes = corpus.tokenizer.vocabulary.n_classes
        with plain_torch(device):
            return learned_tree(net, corpus.windows, n_classes, seed=seeds.hash)

    def _resume(
        self, checkpoints: Checkpoints, model: HsigmoidLanguageModel, X: Any, X_valid: Any
    ) -> Self:
        """Continue an interrupted training as if it had not been interrupted."""
        last = len(model.history_)
        net = model.net_
        seeds = model._seeds
        first = model._first_epoch
        check_same_network(self, net, model._tokenizer)
        hash_seed = net.architecture()["hash_seed"]  # of the first of its trainings
        stopping = self._stopping()
        corpus = self._read(X, X_valid, seeds._replace(hash=hash_seed), stopping=stopping)
        check_same_training(self, model, corpus, checkpoints, stopping)
        best = best_epoch(model.history_, first)
        weights: dict[str, Tensor] = {}
        if stopping is not None and stopping.restore_best:
            at_best = model if best == last else checkpoints.load(best)
            state = at_best.net_.module_.state_dict()
            weights = {key: value.clone() for key, value in state.items()}
        planned, self.log_ = model.max_epochs_, model.log_
        self._copy_training(model)
        self._hold(net, corpus.tokenizer, list(model.history_))
        settings = self._settings(net, corpus)
        if self.learning_rate == "auto":
            settings = replace(settings, learning_rate=model.learning_rate_)
        patience = None if stopping is None else stopping.patience
        has_waited = patience is not None and last - best >= patience
        if has_waited or last - first >= settings.max_epochs:
            if weights:
                net.module_.load_state_dict(weights)
            return self
        factor = settings.learning_rate / model.learning_rate_
        rates = [group["lr"] * factor for group in net.optimizer_.param_groups]
        return self._train(
            net, corpus, settings, checkpoints, Resumed(first, weights, planned, rates)
        )

    def _train(
        self,
        net: LanguageNet,
        corpus: TrainingData,
        settings: TrainingSettings,
        checkpoints: Checkpoints | None,
        resumed: Resumed | None = None,
        seconds_spent: float = 0.0,
    ) -> Self:
        """Train the net and keep it; an error leaves an old one as it was."""
        log, history = (self.log_, self.history_) if self._trains_further(net) else ([], [])
        train = WindowDataset(corpus.windows)
        valid = None if corpus.valid_windows is None else WindowDataset(corpus.valid_windows)
        for step_log in callbacks_of_kind(settings.callbacks, StepLog):
            step_log.log_ = log
        limits = callbacks_of_kind(settings.callbacks, TimeLimit)
        last_callbacks: list[Callback] = [
            TimeLimit(max(limit.seconds - seconds_spent, 1e-9)) for limit in limits
        ]
        self._trained_on, self.max_epochs_ = None, settings.max_epochs
        self.learning_rate_, self.batch_size_ = settings.learning_rate, settings.batch_size
        tokenizer = corpus.tokenizer  # callbacks are not to keep the corpus

        def so_far() -> HsigmoidLanguageModel:
            model = self._shallow_copy()
            model.log_ = log
            return model._hold(net, tokenizer, [])

        if checkpoints is not None:
            self._trained_on = corpus.windows.digest()
            last_callbacks.append(
                SaveCheckpoints(checkpoints, lambda: storable_copy(so_far()), self._first_epoch)
            )
        last_callbacks += epoch_reports(self, so_far)
        with (
            plain_torch(net.device_type),
            undone_on_error(net) as undo,
            net.watched(corpus.windows),
        ):
            if self._trains_further(net):
                last_callbacks.append(undo)
            optimizer = net.make_optimizer(
                self.optimizer,
                settings.learning_rate,
                eps=DAMPING / min(settings.batch_size, len(train)),
                factors=learning_rate_factors(schedule_of(self)),
                weight_decay=float(as_regularization(self.regularization).weight_decay),
            )
            fit_net(
                net,
                train,
                valid,
                settings,
                optimizer=optimizer,
                first_callbacks=[SeedEpochs(settings.seed)],
                last_callbacks=last_callbacks,
                resumed=resumed,
            )
        self.log_ = log
        return self._hold(net, tokenizer, history)
