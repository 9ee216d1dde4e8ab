"""HsigmoidLanguageModel: a neural n-gram language model with hierarchical softmax."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from skorch.callbacks import Callback
from torch import Tensor

from sklearn_hashnlp._sklearn import MAX_INTEGER, MAX_REAL, Interval, StrOptions, fit_context, literal_options
from sklearn_hashnlp.language._architecture import WordEmbedding, check_same_network, language_architecture
from sklearn_hashnlp.language._auto import PARTIAL_FIT_RATE, Auto, auto_settings, warm_start_rate
from sklearn_hashnlp.language._batches import WindowDataset
from sklearn_hashnlp.language._net import LanguageNet, make_language_net
from sklearn_hashnlp.language._neural import NeuralLanguageModel
from sklearn_hashnlp.language._reader import Tokenizer, TrainingData, read_training_data
from sklearn_hashnlp.language._resume import Resumed, SeedEpochs, check_free, check_same_training
from sklearn_hashnlp.language._trees import WordTree, language_tree, mean_hidden_states, word_clusters
from sklearn_hashnlp.language._windows import Padding
from sklearn_hashnlp.nn._nplm import Activation, Architecture, Initialization, OutputLayer
from sklearn_hashnlp.training._callbacks import StepLog
from sklearn_hashnlp.training._checkpoints import EpochCheckpoints, Keep, SaveCheckpoints, best_epoch
from sklearn_hashnlp.training._estimator import atomic_fit
from sklearn_hashnlp.training._fit import fit_net
from sklearn_hashnlp.training._optimizer_state import OptimizerName
from sklearn_hashnlp.training._parameters import (
    TRAINING,
    Device,
    Schedule,
    check_schedule_and_callbacks,
    resolve_device,
)
from sklearn_hashnlp.training._settings import Seeds, TrainingSettings, draw_seeds, folder_of
from sklearn_hashnlp.training._torch_scope import plain_torch, torch_seed
from sklearn_hashnlp.training._undo import undone_on_error
from sklearn_hashnlp.trees import SoftmaxTree

# Of the network that tree="learned" trains first: its share of max_time, and what it has of the other one.
_SMALL_EMBEDDING, _SMALL_HIDDEN, _SMALL_EPOCHS, _SMALL_TIME = 64, 256, 2, 0.25
_SMALL_PARAMETERS = (
    *("order", "far_context", "across_sentences", "embedding", "n_embeddings", "n_buckets", "n_projections", "n_bits"),
    *("optimizer", "learning_rate", "warmup_steps", "max_grad_norm", "batch_size", "device"),
)
_LOGGED_WINDOWS = 2**13  # enough for a loss to two digits, in a tenth of a second


class HsigmoidLanguageModel(NeuralLanguageModel):
    """Predict the next word by a feed-forward neural network over n-grams, with hierarchical softmax.

    The embeddings of the ``order - 1`` previous words are concatenated and passed through a hidden layer [1]_. The
    output layer is a tree whose inner nodes decide between branches [2]_, so that the time per word depends on the
    length of its path and not on the size of the vocabulary. Training also learns word embeddings.

    Parameters
    ----------
    order : int, default=5
        Length of the n-grams: the context and the predicted word.
    embedding_dim : int, default=64
        Dimension of the word embeddings; m in the paper.
    hidden_size : int, default=256
        Size of the hidden layer; h in the paper.
    output : {"hsigmoid", "softmax", "adaptive"}, default="hsigmoid"
        ``"hsigmoid"``: hierarchical softmax over ``tree``. ``"softmax"``: a score for every word, whose time
        grows with the vocabulary. ``"adaptive"``: torch's adaptive softmax, in between.
    tree : str or SoftmaxTree, default="huffman"
        Tree of the hierarchical softmax: "huffman", "learned", "cluster", "binary_cluster", "complete", "balanced",
        "random" or "two_level", for a builder of :mod:`sklearn_hashnlp.trees`; or a tree over all words of
        ``vocabulary_`` except ``<s>``. ``"cluster"`` clusters words that occur in the same contexts into about sqrt(V)
        clusters, next to as many of the most frequent words. ``"learned"``, with the best perplexity, first trains a
        small network with that tree for two epochs, and clusters words by its hidden states, as :meth:`learned_tree`
        does. ``"binary_cluster"`` is faster with very large vocabularies. Ignored by the other outputs.
    direct_connections : bool or "hashed", default=False
        Whether the output layer also reads the word embeddings directly; W in the paper. ``"hashed"``: instead it adds
        the weights of the last word, the last two words, and so on, from a hash table [3]_; only with
        ``output="hsigmoid"``.
    n_direct : int, default=2**22
        Size of that hash table.
    activation : {"tanh", "sigmoid"}, default="tanh"
        Activation function of the hidden layer.
    dropout : float, default=0.35
        Dropout probability of the hidden layer.
    embedding_dropout : float, default=0.1
        Dropout probability of the elements of word embeddings.
    word_dropout : float, default=0.0
        Probability that a word of the window is dropped: its whole embedding is zero.
    arch : {"plain", "modern"}, default="plain"
        ``"plain"``: one hidden layer with ``activation``. ``"modern"``: a linear layer, residual blocks and layer
        normalization [7]_; ``activation`` has no effect.
    n_blocks : int, default=1
        Number of residual blocks. Only with ``arch="modern"``.
    far_context : int, default=0
        Number of words before the ``order - 1`` previous words that also count, as a bag of words [7]_: the network
        reads the average of their embeddings, and another average in which near words weigh more. Contexts may hold
        fewer.
    across_sentences : bool, default=False
        Whether ``far_context`` reaches into the sentences before, so that ``X`` is one text in order, and words that
        are frequent in its last sentences become more probable. Then the score of a sentence depends on those before
        it, and contexts may hold earlier sentences, each ended by ``</s>``. The ``<s>`` at the beginning of each
        sentence are among the ``far_context`` words, but not averaged.
    tie_weights : bool, default=False
        Whether the output layer has the word embeddings as its weights [8]_, after a linear layer from ``hidden_size``
        to ``embedding_dim``: fewer parameters. Only with ``output="softmax"`` and ``embedding="table"``, and without
        direct connections.
    init : {"default", "uniform", "reference"}, default="default"
        Initialization of word embeddings and layers; see :class:`~sklearn_hashnlp.nn.NPLM`. With ``"default"``
        the biases of the output layer are the logarithms of word counts, so that training begins at the frequencies of
        the words.
    embedding : {"table", "hash", "sgnn"}, default="table"
        ``"table"``: an embedding for each word of the vocabulary. ``"hash"``: hash embeddings of all words, also of
        out-of-vocabulary words. ``"sgnn"``: also for all words, and without a table: a linear layer on the projections
        of a word's character n-grams [4]_, so that words with similar spelling have similar embeddings. Try
        ``optimizer="adam"`` with the latter two.
    n_embeddings : int, default=10**6
        Number of rows of the importance table. Only with ``embedding="hash"``.
    n_buckets : int, default=10**5
        Number of vectors in the shared pool. Only with ``embedding="hash"``.
    n_projections, n_bits : int, default=80, 14
        Number of projections of a word and bits of each; see :class:`~sklearn_hashnlp.text.SGNNProjector`. Only with
        ``embedding="sgnn"``.
    vocabulary : dict of str to int or None, default=None
        Words and their ids 0, 1, 2, and so on; the three special tokens are added if they are missing. None learns the
        vocabulary in ``fit``, in the order of descending frequency.
    max_vocabulary : int or None, default=None
        Maximal number of words in the vocabulary, the most frequent ones, without the three special tokens.
    min_count : int, default=1
        Words that occur less often are replaced by ``<unk>``.
    start_token, end_token, unknown_token : str, default="<s>", "</s>", "<unk>"
        The special tokens: the start of a sentence, its end, and all unknown words. Set those that a reader of word
        ids, or ``vocabulary``, has of its own, such as ``end_token="<e>"``; what this page says of ``<s>``, ``</s>``
        and ``<unk>`` is then said of these.
    padding : {"full", "reference"}, default="full"
        ``"full"``: each word of a sentence is predicted, and so is ``</s>``; contexts are padded with ``<s>``. This is
        the usual definition of perplexity. ``"reference"``: one ``<s>`` and no padding, so that the first words of a
        sentence are not predicted, and sentences that have less than ``order`` tokens, with ``<s>`` and ``</s>``, are
        skipped. Contexts for ``predict`` and the ``start`` of ``sample`` then need ``order - 2`` words or more.
    optimizer : {"adagrad", "adam", "sgd"}, default="adagrad"
        Row-wise AdaGrad, with damped first steps of rare words, row-wise Adam, or plain stochastic gradient descent
        without momentum, which a table with sparse gradients has no natural form of. Adam needs a smaller
        ``learning_rate``, such as 0.002, and SGD a larger one, such as 3.
    learning_rate : float or "auto", default="auto"
        Learning rate. ``"auto"``: 0.5 for AdaGrad, 0.002 for Adam, and a quarter of the root of the batch's words for
        SGD; after a ``fit``, a twelfth of it in ``partial_fit``, and with ``warm_start`` a quarter for as much text as
        before, less for less text. So a few sentences of another kind do not ruin a model.
    bias_learning_rate : float, default=1.0
        Factor of the learning rate of the hidden layer's bias.
    direct_learning_rate : float, default=1.0
        Factor of the learning rate of the hashed direct connections.
    learning_rate_schedule : {"constant", "linear"}, default="linear"
        ``"linear"``: the learning rate decays linearly to zero over ``max_epochs``.
    warmup_steps : int, default=100
        Steps over which the learning rate rises linearly to its full value, at most those of three epochs; 0 is no
        warmup: the loss may rise at first. Weights that were trained before need none.
    weight_decay : float, default=0.0
        Decoupled weight decay: with each update a weight also loses ``learning_rate * weight_decay`` times itself. Rows
        of tables, such as word embeddings, decay only in steps that train them [5]_, and biases do not decay.
    max_grad_norm : float or None, default=0.5
        Largest norm of the gradients of all parameters together, sparse ones included, to which they are scaled down
        [6]_; None does not clip, and the loss may rise at first. Gradients are those of the mean loss of a batch.
    lr_plateau : (int, float) or None, default=None
        Patience and factor: the learning rate is multiplied by the factor after so many epochs without a smaller
        validation loss. Only with validation sentences.
    max_epochs : int or "auto", default="auto"
        Number of epochs. ``"auto"``: 5.
    max_time : float or None, default=None
        Seconds of training after which ``fit`` stops, at the earliest after the first step. With ``tree="learned"`` the
        small network takes at most a quarter of them.
    batch_size : int or "auto", default="auto"
        Predicted words per batch. ``"auto"``: the power of two nearest to a 128th of the predicted words, at least 32
        and at most 512; later calls of ``partial_fit``, or of ``fit`` with ``warm_start``, keep that of the first.
    shuffle : bool, default=True
        Whether to shuffle the n-grams before each epoch.
    early_stopping : bool, default=False
        Whether to stop when the validation loss no longer decreases, and to restore the weights of the best epoch. The
        validation set is ``X_valid``, or else a part of the sentences of ``X``.
    validation_fraction : float, default=0.1
        Share of the sentences that become the validation set. Only with ``early_stopping`` and without ``X_valid``.
    n_iter_no_change : int or None, default=2
        Epochs without improvement after which training stops; None never stops early. Only with ``early_stopping``.
    log_every : int or None, default=None
        Number of steps of an epoch between entries of ``log_``, with the training loss and the validation loss (of 8192
        evenly spaced words); with ``verbose=2`` they are printed.
    checkpoint_dir : str, path-like or None, default=None
        Folder for checkpoints after every epoch: ``epoch-00001`` and so on, each of which
        :func:`~sklearn_hashnlp.persistence.load_model` loads. It must hold no checkpoints of an earlier training,
        unless ``resume`` is set.
    keep : {"best", "last", "all"}, default="best"
        Which checkpoints to keep. The last is always kept; ``"best"`` also keeps the one with the lowest validation
        loss, or training loss if there is no validation set.
    resume : bool, default=False
        Whether ``fit`` resumes the training in ``checkpoint_dir``, if there is one. On a CPU the weights are, bit for
        bit, those of a training without interruption. Sentences and parameters must be the same, other sentences raise
        an error. ``max_epochs`` may be another: the learning rate then goes on from where the linear schedule over all
        of these epochs is by now. With ``early_stopping`` it needs ``keep="best"`` or ``"all"``.
    warm_start : bool, default=False
        Whether ``fit`` continues training from the weights and the vocabulary of the previous call.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Device to compute on; "auto" is a CUDA device if there is one.
    callbacks : list of skorch callbacks or None, default=None
        Passed to skorch: callbacks, their classes, or pairs of a name and either. Those that read ``valid_loss`` need
        a validation set. ``max_grad_norm`` takes the place of ``GradientNormClipping``. Use an ``LRScheduler`` with
        ``learning_rate_schedule="constant"``: the rates are multiplied.
    random_state : int, RandomState instance or None, default=None
        Seeds the initial weights, the tree, the validation set, the order of the n-grams and dropout. On a CPU the same
        int gives the same model bit for bit, for any number of threads.
    verbose : int, default=0
        0 prints nothing, 1 a line per epoch, 2 also the entries of ``log_``, 3 also the data, the net and the settings.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The words and their ids: rows of ``embeddings_`` and columns of ``predict_proba``. ``<s>``, which is never
        predicted, is the last.
    embeddings_ : ndarray of float32 of shape (n_words, embedding_dim)
        The word embeddings, in the order of ``vocabulary_``.
    history_ : list of dict
        One entry per epoch or call of ``partial_fit``: ``epoch``, ``train_loss``, ``train_perplexity``, ``dur``
        (seconds) and, with a validation set, ``valid_loss`` and ``valid_perplexity``; also the numbers that callbacks
        recorded.
    log_ : list of dict
        The training log, an entry every ``log_every`` steps: ``epoch``, ``step``, ``train_loss`` and ``valid_loss``.
    batch_size_, learning_rate_, max_epochs_ : int, float, int
        The batch size, the learning rate and the number of epochs of the last training, where ``"auto"`` is resolved.
    n_parameters_ : int
        Number of parameters of the net.
    net_ : skorch.NeuralNet
        The trained net; ``net_.module_`` is a :class:`~sklearn_hashnlp.nn.NPLM`.

    See Also
    --------
    sklearn_hashnlp.nn.NPLM : The network.
    sklearn_hashnlp.nn.HierarchicalSoftmax : Its output layer.

    Notes
    -----
    Scores and perplexities include ``</s>`` and, as ``<unk>``, out-of-vocabulary words; compare only models with the
    same vocabulary, since a small vocabulary makes the perplexity low. With ``output="hsigmoid"`` on a CPU, the score
    of a sentence does not depend, bit for bit, on the other sentences scored with it.

    An interrupt (Ctrl-C) ends training early, and ``fit`` raises ``KeyboardInterrupt``. The model is fitted then, with
    the current weights or, with ``early_stopping``, those of the best epoch. ``history_`` holds the epochs that were
    completed. A second Ctrl-C stops at once. Any other error, and an interrupt before the first epoch, leaves a new
    model unfitted and a fitted one as it was, also its weights.

    References
    ----------
    .. [1] Bengio, Ducharme, Vincent & Jauvin (2003). A neural probabilistic language model. JMLR 3.
    .. [2] Morin & Bengio (2005). Hierarchical probabilistic neural network language model. AISTATS.
    .. [3] Mikolov, Deoras, Povey, Burget & Černocký (2011). Strategies for training large scale neural network
           language models. ASRU.
    .. [4] Ravi & Kozareva (2018). Self-governing neural networks for on-device short text classification. EMNLP.
    .. [5] Loshchilov & Hutter (2019). Decoupled weight decay regularization. ICLR.
    .. [6] Pascanu, Mikolov & Bengio (2013). On the difficulty of training recurrent neural networks. ICML.
    .. [7] Sun & Iyyer (2021). Revisiting simple neural probabilistic language models. NAACL.
    .. [8] Press & Wolf (2017). Using the output embedding to improve language models. EACL.

    Examples
    --------
    >>> from sklearn_hashnlp.language import HsigmoidLanguageModel
    >>> sentences = ["the cat sat on the mat", "the dog sat on the rug", "a cat saw the dog"]
    >>> model = HsigmoidLanguageModel(order=3, embedding_dim=8, hidden_size=16, max_epochs=100, random_state=0)
    >>> model.fit(sentences).predict(["the cat sat", "a cat saw"]).tolist()
    ['on', 'the']
    >>> natural, shuffled = model.score_samples(["the dog sat on the mat", "mat the on sat dog the"])
    >>> bool(natural > shuffled)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = TRAINING | {
        "learning_rate_schedule": [literal_options(Schedule)],
        "lr_plateau": [tuple, list, None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "shuffle": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, MAX_INTEGER, closed="both"), None],
        "checkpoint_dir": [str, PathLike, None],
        "order": [Interval(Integral, 2, MAX_INTEGER, closed="both")],
        "embedding_dim": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "hidden_size": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "output": [literal_options(OutputLayer)],
        "tree": [literal_options(WordTree), SoftmaxTree],
        "direct_connections": ["boolean", StrOptions({"hashed"})],
        "n_direct": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "activation": [literal_options(Activation)],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "embedding_dropout": [Interval(Real, 0, 1, closed="left")],
        "word_dropout": [Interval(Real, 0, 1, closed="left")],
        "arch": [literal_options(Architecture)],
        "n_blocks": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "far_context": [Interval(Integral, 0, MAX_INTEGER, closed="both")],
        "across_sentences": ["boolean"],
        "tie_weights": ["boolean"],
        "init": [literal_options(Initialization)],
        "embedding": [literal_options(WordEmbedding)],
        "n_embeddings": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "n_buckets": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "n_projections": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "n_bits": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "vocabulary": [dict, None],
        "max_vocabulary": [Interval(Integral, 1, MAX_INTEGER, closed="both"), None],
        "min_count": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "start_token": [str],
        "end_token": [str],
        "unknown_token": [str],
        "padding": [literal_options(Padding)],
        "learning_rate": [*TRAINING["learning_rate"], StrOptions({"auto"})],
        "bias_learning_rate": [Interval(Real, 0, MAX_REAL, closed="right")],
        "direct_learning_rate": [Interval(Real, 0, MAX_REAL, closed="right")],
        "warmup_steps": [Interval(Integral, 0, MAX_INTEGER, closed="both")],
        "optimizer": [literal_options(OptimizerName)],
        "weight_decay": [Interval(Real, 0, MAX_REAL, closed="both")],
        "max_grad_norm": [Interval(Real, 0, MAX_REAL, closed="right"), None],
        "max_epochs": [Interval(Integral, 1, MAX_INTEGER, closed="both"), StrOptions({"auto"})],
        "batch_size": [Interval(Integral, 1, MAX_INTEGER, closed="both"), StrOptions({"auto"})],
        "log_every": [Interval(Integral, 1, MAX_INTEGER, closed="both"), None],
        "keep": [literal_options(Keep)],
        "resume": ["boolean"],
    }

    def __init__(
        self,
        *,
        order: int = 5,
        embedding_dim: int = 64,
        hidden_size: int = 256,
        output: OutputLayer = "hsigmoid",
        tree: WordTree | SoftmaxTree = "huffman",
        direct_connections: bool | Literal["hashed"] = False,
        n_direct: int = 2**22,
        activation: Activation = "tanh",
        dropout: float = 0.35,
        embedding_dropout: float = 0.1,
        word_dropout: float = 0.0,
        arch: Architecture = "plain",
        n_blocks: int = 1,
        far_context: int = 0,
        across_sentences: bool = False,
        tie_weights: bool = False,
        init: Initialization = "default",
        embedding: WordEmbedding = "table",
        n_embeddings: int = 10**6,
        n_buckets: int = 10**5,
        n_projections: int = 80,
        n_bits: int = 14,
        vocabulary: dict[str, int] | None = None,
        max_vocabulary: int | None = None,
        min_count: int = 1,
        start_token: str = "<s>",
        end_token: str = "</s>",
        unknown_token: str = "<unk>",
        padding: Padding = "full",
        optimizer: OptimizerName = "adagrad",
        learning_rate: float | Auto = "auto",
        bias_learning_rate: float = 1.0,
        direct_learning_rate: float = 1.0,
        learning_rate_schedule: Schedule = "linear",
        warmup_steps: int = 100,
        weight_decay: float = 0.0,
        max_grad_norm: float | None = 0.5,
        lr_plateau: tuple[int, float] | list[float] | None = None,
        max_epochs: int | Auto = "auto",
        max_time: float | None = None,
        batch_size: int | Auto = "auto",
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = 2,
        log_every: int | None = None,
        checkpoint_dir: str | PathLike[str] | None = None,
        keep: Keep = "best",
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
        self.n_direct = n_direct
        self.activation = activation
        self.dropout = dropout
        self.embedding_dropout = embedding_dropout
        self.word_dropout = word_dropout
        self.arch = arch
        self.n_blocks = n_blocks
        self.far_context = far_context
        self.across_sentences = across_sentences
        self.tie_weights = tie_weights
        self.init = init
        self.embedding = embedding
        self.n_embeddings = n_embeddings
        self.n_buckets = n_buckets
        self.n_projections = n_projections
        self.n_bits = n_bits
        self.vocabulary = vocabulary
        self.max_vocabulary = max_vocabulary
        self.min_count = min_count
        self.start_token = start_token
        self.end_token = end_token
        self.unknown_token = unknown_token
        self.padding = padding
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.bias_learning_rate = bias_learning_rate
        self.direct_learning_rate = direct_learning_rate
        self.learning_rate_schedule = learning_rate_schedule
        self.warmup_steps = warmup_steps
        self.weight_decay = weight_decay
        self.max_grad_norm = max_grad_norm
        self.lr_plateau = lr_plateau
        self.max_epochs = max_epochs
        self.max_time = max_time
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.log_every = log_every
        self.checkpoint_dir = checkpoint_dir
        self.keep = keep
        self.resume = resume
        self.warm_start = warm_start
        self.device = device
        self.callbacks = callbacks
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def fit(self, X: Any, y: Any = None, X_valid: Any = None) -> Self:
        """Train the model on sentences.

        Parameters
        ----------
        X : iterable of (str or iterable of str), path-like or callable
            Sentences: strings, which are split at white space, or lists of words. A path-like object such as
            ``pathlib.Path``: a text file in UTF-8 with one sentence per line; blank lines are skipped. A callable
            without arguments, a reader, returns an iterator of sentences or, with ``vocabulary``, of tuples or arrays
            of ``order`` word ids: a context and the word after it. ``<s>`` at the beginning of a sentence and
            ``</s>`` at its end are left out, since every sentence gets its own; elsewhere they are unknown words.
        y : None
            Ignored.
        X_valid : as X, default=None
            Validation sentences, evaluated after every epoch. None with ``early_stopping``: a part of ``X``.

        Returns
        -------
        self : HsigmoidLanguageModel
            The fitted model.

        Raises
        ------
        TypeError
            If ``X`` is a single string, or holds something that is not a sentence.
        ValueError
            If a parameter is not as described; if there is no sentence or, with ``padding="reference"``, none that is
            long enough; if training diverges; if ``checkpoint_dir`` holds checkpoints and ``resume`` is not set; or if
            ``resume`` or ``warm_start`` is set and the vocabulary or the net's hyper-parameters are not the same.
        RuntimeError
            If ``device="cuda"`` and torch finds no CUDA device.
        OSError
            If a file cannot be read or a checkpoint cannot be written.
        """
        self._check_parameters()
        device = resolve_device(self.device, caller=type(self).__name__)
        checkpoints = None if self.checkpoint_dir is None else EpochCheckpoints(self.checkpoint_dir)
        if checkpoints is not None and self.resume and checkpoints.epochs():
            return self._resume(checkpoints, X, X_valid)
        seeds = draw_seeds(self.random_state)
        resumes = bool(self.warm_start) and hasattr(self, "net_")
        if checkpoints is not None:
            check_free(checkpoints, len(self.history_) if resumes else 0, caller=type(self).__name__)
        tokenizer = self._tokenizer if resumes else None
        corpus = read_training_data(self, X, X_valid, seed=seeds.split, hash_seed=seeds.hash, tokenizer=tokenizer)
        began = time.monotonic()
        net = self._net_to_train(corpus, seeds, device, resumes=resumes)
        self._seeds, self._first_epoch = seeds, len(net.history)
        n_windows, n_before = len(corpus.windows), self._n_fitted if resumes else 0
        settings = self._settings(net, corpus, warm_start_rate(n_windows, n_before))
        self._n_fitted = max(n_windows, n_before)  # and not their sum: it may be the same text again
        if settings.max_time is not None:  # the tree has taken its part
            settings = replace(settings, max_time=settings.max_time - (time.monotonic() - began))
        return self._train(net, corpus, settings, checkpoints)

    @fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Train for one epoch on more sentences, continuing from earlier calls of ``fit`` or ``partial_fit``.

        The learning rate is constant after a warmup in the first call of a new model, and there is no validation set:
        ``learning_rate_schedule``, ``lr_plateau``, ``max_epochs``, ``max_time``, ``early_stopping``, ``checkpoint_dir``
        and the parameters that depend on them have no effect. After a ``fit``, ``learning_rate="auto"`` is a twelfth.

        Parameters
        ----------
        X : iterable of (str or iterable of str), path-like or callable
            Sentences, as in ``fit``. The first call fixes the vocabulary: the words of its sentences, unless
            ``vocabulary`` is set.
        y : None
            Ignored.

        Returns
        -------
        self : HsigmoidLanguageModel
            The fitted model.

        Raises
        ------
        TypeError, ValueError, RuntimeError, OSError
            As in ``fit``.
        """
        self._check_parameters()
        device = resolve_device(self.device, caller=type(self).__name__)
        seeds = draw_seeds(self.random_state)
        resumes = hasattr(self, "net_")
        tokenizer = self._tokenizer if resumes else None
        corpus = read_training_data(self, X, None, seed=None, hash_seed=seeds.hash, tokenizer=tokenizer)
        net = self._net_to_train(corpus, seeds, device, resumes=resumes)
        self._seeds, self._first_epoch = seeds, len(net.history)
        was_fitted = resumes and self._n_fitted > 0
        settings = self._settings(net, corpus, PARTIAL_FIT_RATE if was_fitted else 1.0).single_epoch()
        self._n_fitted = self._n_fitted + len(corpus.windows) if was_fitted else 0
        return self._train(net, corpus, replace(settings, warmup_steps=int(self.warmup_steps)), None)  # of a new net

    def _check_parameters(self) -> None:
        """Check what the declared constraints cannot express."""
        check_schedule_and_callbacks(self)
        name = type(self).__name__
        if self.direct_connections == "hashed" and self.output != "hsigmoid":
            raise ValueError(
                f"{name}(direct_connections='hashed') needs output='hsigmoid', where a word has the scores of a path "
                f"and not of all words. Got output={self.output!r}; set direct_connections=True or False."
            )
        if self.tie_weights and (self.output != "softmax" or self.embedding != "table" or self.direct_connections):
            raise ValueError(
                f"{name}(tie_weights=True) needs output='softmax', whose weights are a vector for each word, "
                f"embedding='table' and direct_connections=False, got {self.output!r}, {self.embedding!r} and "
                f"{self.direct_connections!r}. Set these, or tie_weights=False."
            )
        if self.resume and self.checkpoint_dir is None:
            raise ValueError(f"{name}(resume=True) needs checkpoint_dir, the folder of the training to go on with.")
        if self.resume and self.early_stopping and self.keep == "last":
            raise ValueError(
                f"{name}(early_stopping=True, resume=True) returns to the best epoch, which keep='last' does not keep. "
                "Set keep='best' or 'all'."
            )

    def _settings(self, net: LanguageNet, corpus: TrainingData, rate_factor: float = 1.0) -> TrainingSettings:
        first_batch_size = self.batch_size_ if self._trains_further(net) else None
        auto = auto_settings(self, len(corpus.windows), first_batch_size, rate_factor)
        return TrainingSettings.of(self, seed=self._seeds.order, restore_best=True, **auto)

    def _trains_further(self, net: LanguageNet) -> bool:
        return hasattr(self, "net_") and net is self.net_

    def _net_to_train(self, corpus: TrainingData, seeds: Seeds, device: str, *, resumes: bool) -> LanguageNet:
        vocabulary, name = corpus.tokenizer.vocabulary, type(self).__name__
        if resumes:
            check_same_network(self, self.net_, self._tokenizer)
            return self._net
        tree = None
        if self.output == "hsigmoid" and self.tree == "learned":
            tree = self._learn_tree(corpus, seeds, device)
        elif self.output == "hsigmoid":
            tree = language_tree(self.tree, corpus.windows, vocabulary.n_classes, seed=seeds.hash, caller=name)
        with plain_torch(device):
            net = make_language_net(language_architecture(self, vocabulary, seeds.hash), tree, device)
            with torch_seed(seeds.module, device):
                net.initialize()
            if self.init == "default":
                net.module_.init_bias(np.bincount(corpus.windows.y, minlength=vocabulary.n_classes))
        return net

    def _learn_tree(self, corpus: TrainingData, seeds: Seeds, device: str) -> SoftmaxTree:
        """Train a small network with the tree of co-occurrences, and cluster the words by its hidden states."""
        small = HsigmoidLanguageModel(
            **{name: getattr(self, name) for name in _SMALL_PARAMETERS},
            embedding_dim=min(self.embedding_dim, _SMALL_EMBEDDING),
            hidden_size=min(self.hidden_size, _SMALL_HIDDEN),
            tree="cluster",
            max_epochs=_SMALL_EPOCHS,
            max_time=None if self.max_time is None else _SMALL_TIME * self.max_time,
            dropout=0.25,
            embedding_dropout=0.0,
        )
        small._seeds, small._first_epoch = seeds, 0
        net = small._net_to_train(corpus, seeds, device, resumes=False)
        small._train(net, corpus._replace(valid_windows=None), small._settings(net, corpus), None)
        n_classes = corpus.tokenizer.vocabulary.n_classes
        with plain_torch(device):
            vectors = mean_hidden_states(net, corpus.windows, n_classes)
        return word_clusters(np.bincount(corpus.windows.y, minlength=n_classes), vectors, seed=seeds.hash)

    def _resume(self, checkpoints: EpochCheckpoints, X: Any, X_valid: Any) -> Self:
        """Go on with an interrupted training as if it had not been interrupted."""
        checkpoints.clear_unfinished()
        last = checkpoints.epochs()[-1]
        model = checkpoints.load(last)
        net, seeds, first = model.net_, model._seeds, model._first_epoch
        check_same_network(self, net, model._tokenizer)
        hash_seed = net.architecture()["direct_seed"]  # of the first of its trainings
        corpus = read_training_data(self, X, X_valid, seed=seeds.split, hash_seed=hash_seed)
        check_same_training(self, model, corpus, checkpoints)
        best = best_epoch(model.history_, first)
        weights: dict[str, Tensor] = {}
        if self.early_stopping and corpus.valid_windows is not None:
            at_best = model if best == last else checkpoints.load(best)
            weights = {key: value.clone() for key, value in at_best.net_.module_.state_dict().items()}
        planned = model.max_epochs_
        self._seeds, self._first_epoch, self._trained_on, self.log_ = seeds, first, model._trained_on, model.log_
        self.batch_size_, self.learning_rate_, self.max_epochs_ = model.batch_size_, model.learning_rate_, planned
        self._n_fitted = model._n_fitted
        self._hold(net, corpus.tokenizer, list(model.history_))
        settings = self._settings(net, corpus)
        if self.learning_rate == "auto":
            settings = replace(settings, learning_rate=model.learning_rate_)
        patience = self.n_iter_no_change if self.early_stopping else None
        if last - first >= settings.max_epochs or (patience is not None and last - best >= patience):
            if weights:
                net.module_.load_state_dict(weights)
            return self
        factor = settings.learning_rate / model.learning_rate_
        rates = [group["lr"] * factor for group in net.optimizer_.param_groups]
        return self._train(net, corpus, settings, checkpoints, Resumed(first, rates, planned, weights))

    def _train(
        self,
        net: LanguageNet,
        corpus: TrainingData,
        settings: TrainingSettings,
        checkpoints: EpochCheckpoints | None,
        resumed: Resumed | None = None,
    ) -> Self:
        """Train the net and keep it; an error leaves an old one as it was."""
        log, history = (self.log_, self.history_) if self._trains_further(net) else ([], [])
        train, valid = WindowDataset(corpus.windows), None
        last_callbacks: list[Callback] = []
        if corpus.valid_windows is not None:
            valid = WindowDataset(corpus.valid_windows)
        if settings.log_every is not None:
            valid_loss = None
            if corpus.valid_windows is not None:
                some = corpus.valid_windows.evenly_spaced(_LOGGED_WINDOWS)
                valid_loss = lambda: -float(net.score_windows(some).mean())  # noqa: E731 - of this training alone
            step_log = StepLog(settings.log_every, valid_loss, log, show=settings.verbose > 1)
            last_callbacks.append(step_log)
        self._trained_on, self.max_epochs_ = None, settings.max_epochs
        self.learning_rate_, self.batch_size_ = settings.learning_rate, settings.batch_size
        if checkpoints is not None:
            self._trained_on = corpus.windows.digest()
            tokenizer = corpus.tokenizer  # the callback is not to keep the corpus
            save = SaveCheckpoints(
                checkpoints, lambda: self._snapshot(net, tokenizer, log), self.keep, self._first_epoch
            )
            last_callbacks.append(save)
        with plain_torch(torch.device(net.device).type), undone_on_error(net) as undo, net.watched(corpus.windows):
            if self._trains_further(net):
                last_callbacks.append(undo)
            optimizer = net.make_optimizer(
                self.optimizer,
                settings.learning_rate,
                n_words=min(settings.batch_size, len(train)),
                bias_learning_rate=float(self.bias_learning_rate),
                direct_learning_rate=float(self.direct_learning_rate),
                weight_decay=float(self.weight_decay),
            )
            if resumed is not None:
                for group, rate in zip(optimizer.param_groups, resumed.learning_rates, strict=True):
                    group["lr"] = rate
            generator = np.random.default_rng(settings.seed)
            fit_net(
                net,
                train,
                valid,
                settings,
                optimizer=optimizer,
                batch_options={"generator": generator},
                first_callbacks=[SeedEpochs(settings.seed, generator)],
                last_callbacks=last_callbacks,
                first_epoch=None if resumed is None else resumed.first_epoch,
                best_weights=None if resumed is None else resumed.best_weights,
                planned_epochs=None if resumed is None else resumed.planned_epochs,
            )
        self.log_ = log
        self._hold(net, corpus.tokenizer, history)
        return self

    def _snapshot(self, net: LanguageNet, tokenizer: Tokenizer, log: list[dict[str, float]]) -> HsigmoidLanguageModel:
        """Return a model that shares the net and can be saved."""
        seed = self.random_state if isinstance(self.random_state, Integral) else None
        parameters = self.get_params(deep=False) | {"callbacks": None, "random_state": seed}
        model = type(self)(**parameters | {"checkpoint_dir": folder_of(self.checkpoint_dir)})
        model._seeds, model._first_epoch, model._n_fitted = self._seeds, self._first_epoch, self._n_fitted
        model._trained_on, model.log_ = self._trained_on, log
        for name in ("learning_rate_", "batch_size_", "max_epochs_"):
            setattr(model, name, getattr(self, name))
        model._hold(net, tokenizer, [])
        return model
