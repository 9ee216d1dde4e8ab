"""A neural language model over n-grams, as a scikit-learn estimator."""

from __future__ import annotations

from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import torch
from skorch.callbacks import Callback
from torch import Tensor

from sklearn_hashnlp._sklearn import Interval, StrOptions, fit_context
from sklearn_hashnlp.language._architecture import check_same_network, language_architecture
from sklearn_hashnlp.language._batches import WindowDataset
from sklearn_hashnlp.language._net import LanguageNet, make_language_net
from sklearn_hashnlp.language._neural import NeuralLanguageModel
from sklearn_hashnlp.language._reader import Tokenizer, TrainingData, read_training_data
from sklearn_hashnlp.language._resume import Resumed, check_same_training
from sklearn_hashnlp.language._trees import TREES, language_tree
from sklearn_hashnlp.training._callbacks import SeedEpochs, StepLog
from sklearn_hashnlp.training._checkpoints import EpochCheckpoints, SaveCheckpoints, best_epoch
from sklearn_hashnlp.training._estimator import warn_of_interrupt
from sklearn_hashnlp.training._fit import fit_net
from sklearn_hashnlp.training._parameters import TRAINING, check_schedule_and_callbacks
from sklearn_hashnlp.training._settings import Seeds, TrainingSettings, draw_seeds, folder_of
from sklearn_hashnlp.training._torch_scope import plain_torch, resolve_device, torch_seed
from sklearn_hashnlp.trees import SoftmaxTree

_LOGGED_WINDOWS = 2**13  # enough for a loss to two digits, in a tenth of a second


class HsigmoidLanguageModel(NeuralLanguageModel):
    """Predict the next word by a neural network over n-grams, in time that does not grow with the number of words.

    The vectors of the ``order - 1`` words before are read, side by side, by a hidden layer, and this by an output layer
    [1]_: a tree whose inner nodes decide between branches [2]_, so that a word costs the length of its path. It learns
    vectors of words by the way.

    Parameters
    ----------
    order : int, default=5
        Words of an n-gram: the context and the word that is predicted.
    embedding_dim : int, default=64
        Length of a word's vector; m in the paper.
    hidden_size : int, default=256
        Width of the hidden layer; h in the paper.
    output : {"hsigmoid", "softmax", "adaptive"}, default="hsigmoid"
        ``"hsigmoid"``: hierarchical softmax over ``tree``. ``"softmax"``: one score for each word, which costs what
        there are words. ``"adaptive"``: torch's adaptive softmax, in between.
    tree : str or SoftmaxTree, default="huffman"
        Of the hierarchical softmax: "huffman", "cluster", "binary_cluster", "complete", "balanced", "random",
        "two_level", for a builder of :mod:`sklearn_hashnlp.trees`; or a tree over all words of ``vocabulary_`` but
        ``<s>``, such as the :meth:`learned_tree` of another model. ``"cluster"`` brings words together that follow the
        same words, in about sqrt(V) clusters beside as many of the most frequent words, and predicts best of those;
        ``"binary_cluster"`` splits them in two again and again, which is faster with very many words. Ignored by the
        other outputs.
    direct_connections : bool or "hashed", default=False
        Whether the output layer reads the word vectors as well; W in the paper. ``"hashed"``: instead it adds weights
        of the last word, the last two words, and so on, from a hashed table [3]_; only with ``output="hsigmoid"``.
    n_direct : int, default=2**22
        Size of that table.
    activation : {"tanh", "sigmoid"}, default="tanh"
        Of the hidden layer.
    dropout : float, default=0.25
        Share of the hidden layer that is dropped in training.
    embedding_dropout : float, default=0.0
        Share of the word vectors' elements that is dropped in training.
    init : {"default", "uniform", "reference"}, default="default"
        How word vectors and hidden layer start; see :class:`~sklearn_hashnlp.nn.NPLM`.
    embedding : {"table", "hash", "sgnn"}, default="table"
        ``"table"``: a vector for each word of the vocabulary. ``"hash"``: hash embeddings of all words, also of those
        that are too rare to be predicted and of those that training never saw. ``"sgnn"``: for all words, too, and
        without a table: a learned linear layer reads the projections of a word's character n-grams [4]_, so that words
        that are spelled alike have similar vectors. Try ``optimizer="adam"`` with either.
    n_embeddings : int, default=10**6
        Rows of the importance table. Only with ``embedding="hash"``.
    n_buckets : int, default=10**5
        Vectors in the shared pool. Only with ``embedding="hash"``.
    n_projections, n_bits : int, default=80, 14
        Of a word's characters; see :class:`~sklearn_hashnlp.text.SGNNProjector`. Only with ``embedding="sgnn"``.
    vocabulary : dict of str to int or None, default=None
        Words and their numbers 0, 1, 2, and so on, which fix the words and their order; ``</s>``, ``<unk>`` and
        ``<s>`` are added where they are missing. None learns the words in ``fit``, in the order of falling frequency.
    max_vocabulary : int or None, default=None
        How many words to learn at most beside the three marks, the most frequent ones.
    min_count : int, default=1
        Words that occur less often are not learned and become ``<unk>``.
    padding : {"full", "reference"}, default="full"
        ``"full"``: each word of a sentence is predicted, and so is ``</s>``; contexts are filled up with ``<s>``. This
        is what perplexities mean. ``"reference"``: one ``<s>`` and no filling, so that the first words of a sentence
        are not predicted, and sentences shorter than ``order`` with both marks are passed over.
    optimizer : {"adagrad", "adam"}, default="adagrad"
        Row-wise AdaGrad, the first steps of rare words damped, or row-wise Adam. Adam wants a smaller
        ``learning_rate``, such as 0.002.
    learning_rate : float, default=0.5
        Step size.
    bias_learning_rate : float, default=1.0
        What the step size of the hidden layer's bias is multiplied by.
    direct_learning_rate : float, default=1.0
        What that of the hashed direct connections is multiplied by.
    learning_rate_schedule : {"constant", "linear"}, default="linear"
        ``"linear"``: the step size falls linearly to zero over ``max_epochs``.
    lr_plateau : (int, float) or None, default=None
        Patience and factor: the step size is multiplied by the factor after so many epochs without a smaller validation
        loss. Only where there are validation sentences.
    max_epochs : int, default=5
        Passes over the sentences.
    max_time : float or None, default=None
        Seconds of training after which ``fit`` ends, though not before the first step.
    batch_size : int, default=512
        Words a step.
    shuffle : bool, default=True
        Whether each pass goes through the words in an order of its own.
    early_stopping : bool, default=False
        Whether to stop when the validation loss no longer falls, and to end with the weights of the best epoch. It is
        measured on ``X_valid``, or else on sentences held out of ``X``.
    validation_fraction : float, default=0.1
        Share of the sentences to hold out. Only with ``early_stopping`` and without ``X_valid``.
    n_iter_no_change : int or None, default=2
        Epochs without a better one after which training stops; None never stops early. Only with ``early_stopping``.
    log_every : int or None, default=None
        After how many steps of an epoch training and validation loss (over 8192 words spread evenly) are noted in
        ``log_`` and, with ``verbose=2``, printed.
    checkpoint_dir : str, path-like or None, default=None
        Folder in which the model is saved after every epoch: ``epoch-00001`` and so on, each of which
        :func:`~sklearn_hashnlp.persistence.load_model` loads. It must hold no checkpoints of an earlier training,
        unless ``resume`` is set.
    keep : {"best", "last", "all"}, default="best"
        Which checkpoints stay there. The last always does; ``"best"`` keeps the one with the lowest validation loss, or
        training loss where there is no other, as well.
    resume : bool, default=False
        Whether ``fit`` goes on with the training in ``checkpoint_dir``, if there is one, as if it had never been
        interrupted: on a CPU with the same result, to the last bit. Give the same sentences, others are refused, and
        parameters; ``max_epochs`` may be larger. With ``early_stopping`` it needs ``keep="best"`` or ``"all"``.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the weights and words that are there.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where to compute; "auto" takes a CUDA device where there is one.
    callbacks : list of skorch callbacks or None, default=None
        Handed to skorch as they are: callbacks, their classes or pairs of a name and one.
    random_state : int, RandomState instance or None, default=None
        Of initial weights, tree, order and dropout. The same int gives the same model to the last bit, whatever the
        number of threads (on a CPU).
    verbose : int, default=0
        0 is silent, 1 prints a line an epoch, 2 also what ``log_every`` asks for, 3 also what is set up.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The words and their numbers, which are the rows of ``embeddings_`` and the columns of ``predict_proba``.
        ``<s>``, which is never predicted, is the last.
    embeddings_ : ndarray of float32 of shape (n_words, embedding_dim)
        The vectors of all words in the order of ``vocabulary_``.
    history_ : list of dict
        An entry an epoch, or a call of ``partial_fit``: ``epoch``, ``train_loss``, ``train_perplexity``, ``dur``
        (seconds) and, where there were validation sentences, ``valid_loss`` and ``valid_perplexity``.
    log_ : list of dict
        What was noted every ``log_every`` steps: ``epoch``, ``step``, ``train_loss`` and ``valid_loss``.
    n_parameters_ : int
        Numbers in the net.
    net_ : skorch.NeuralNet
        The trained net; ``net_.module_`` is a :class:`~sklearn_hashnlp.nn.NPLM`.

    See Also
    --------
    sklearn_hashnlp.nn.NPLM : The network alone.
    sklearn_hashnlp.nn.HierarchicalSoftmax : Its output layer.

    Notes
    -----
    Scores and perplexities count ``</s>`` and, as ``<unk>``, words that are not known; compare only models with the
    same words. A model that knows few words has a low perplexity. With ``output="hsigmoid"`` on a CPU, the score of a
    sentence is the same to the last bit whatever other sentences are scored with it.

    An interrupt (Ctrl-C) ends ``fit`` early but in good order, with a warning: the model is the one reached so far, or
    the best epoch's with ``early_stopping``.

    References
    ----------
    .. [1] Bengio, Ducharme, Vincent & Jauvin (2003). A neural probabilistic language model. JMLR 3.
    .. [2] Morin & Bengio (2005). Hierarchical probabilistic neural network language model. AISTATS.
    .. [3] Mikolov, Deoras, Povey, Burget & Černocký (2011). Strategies for training large scale neural network
           language models. ASRU.
    .. [4] Ravi & Kozareva (2018). Self-governing neural networks for on-device short text classification. EMNLP.

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
        "order": [Interval(Integral, 2, None, closed="left")],
        "embedding_dim": [Interval(Integral, 1, None, closed="left")],
        "hidden_size": [Interval(Integral, 1, None, closed="left")],
        "output": [StrOptions({"hsigmoid", "softmax", "adaptive"})],
        "tree": [StrOptions(set(TREES)), SoftmaxTree],
        "direct_connections": ["boolean", StrOptions({"hashed"})],
        "n_direct": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "activation": [StrOptions({"tanh", "sigmoid"})],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "embedding_dropout": [Interval(Real, 0, 1, closed="left")],
        "init": [StrOptions({"default", "uniform", "reference"})],
        "embedding": [StrOptions({"table", "hash", "sgnn"})],
        "n_embeddings": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "n_buckets": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "n_projections": [Interval(Integral, 1, None, closed="left")],
        "n_bits": [Interval(Integral, 1, None, closed="left")],
        "vocabulary": [dict, None],
        "max_vocabulary": [Interval(Integral, 1, None, closed="left"), None],
        "min_count": [Interval(Integral, 1, None, closed="left")],
        "padding": [StrOptions({"full", "reference"})],
        "bias_learning_rate": [Interval(Real, 0, None, closed="neither")],
        "direct_learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "log_every": [Interval(Integral, 1, None, closed="left"), None],
        "keep": [StrOptions({"best", "last", "all"})],
        "resume": ["boolean"],
    }

    def __init__(
        self,
        *,
        order: int = 5,
        embedding_dim: int = 64,
        hidden_size: int = 256,
        output: str = "hsigmoid",
        tree: str | SoftmaxTree = "huffman",
        direct_connections: bool | str = False,
        n_direct: int = 2**22,
        activation: str = "tanh",
        dropout: float = 0.25,
        embedding_dropout: float = 0.0,
        init: str = "default",
        embedding: str = "table",
        n_embeddings: int = 10**6,
        n_buckets: int = 10**5,
        n_projections: int = 80,
        n_bits: int = 14,
        vocabulary: dict[str, int] | None = None,
        max_vocabulary: int | None = None,
        min_count: int = 1,
        padding: str = "full",
        optimizer: str = "adagrad",
        learning_rate: float = 0.5,
        bias_learning_rate: float = 1.0,
        direct_learning_rate: float = 1.0,
        learning_rate_schedule: str = "linear",
        lr_plateau: tuple[int, float] | list[float] | None = None,
        max_epochs: int = 5,
        max_time: float | None = None,
        batch_size: int = 512,
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = 2,
        log_every: int | None = None,
        checkpoint_dir: str | PathLike[str] | None = None,
        keep: str = "best",
        resume: bool = False,
        warm_start: bool = False,
        device: str = "cpu",
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
        self.init = init
        self.embedding = embedding
        self.n_embeddings = n_embeddings
        self.n_buckets = n_buckets
        self.n_projections = n_projections
        self.n_bits = n_bits
        self.vocabulary = vocabulary
        self.max_vocabulary = max_vocabulary
        self.min_count = min_count
        self.padding = padding
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.bias_learning_rate = bias_learning_rate
        self.direct_learning_rate = direct_learning_rate
        self.learning_rate_schedule = learning_rate_schedule
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

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def fit(self, X: Any, y: Any = None, X_valid: Any = None) -> HsigmoidLanguageModel:
        """Train on sentences.

        Parameters
        ----------
        X : iterable of (str or iterable of str), path-like or callable
            Sentences: strings, which are split at white space, or lists of words. A path-like object such as
            ``pathlib.Path`` names a text file in UTF-8 with a sentence a line; blank lines are passed over. A callable
            without arguments, a reader, returns an iterator of sentences or, with ``vocabulary``, of tuples or arrays
            of ``order`` word ids: a context and the word after it. ``<s>`` at the beginning of a sentence and
            ``</s>`` at its end are left out, since every sentence gets its own; elsewhere they are unknown words.
        y : None
            Ignored.
        X_valid : as X, default=None
            Sentences to measure every epoch by. None with ``early_stopping``: some of ``X`` are held out.

        Returns
        -------
        HsigmoidLanguageModel
            Itself.

        Raises
        ------
        TypeError
            If ``X`` is a single string, or holds something that is no sentence.
        ValueError
            If a parameter is not as described, there is no sentence or, with ``padding="reference"``, none that is long
            enough, if training diverges, if ``checkpoint_dir`` holds checkpoints and ``resume`` is not set, or if it
            or ``warm_start`` is set and the words or the net's parameters are not those of before.
        RuntimeError
            If ``device="cuda"`` and torch finds no CUDA device.
        OSError
            If a file cannot be read or a checkpoint not be written.
        """
        self._check_parameters()
        device = resolve_device(self.device, caller=type(self).__name__)
        checkpoints = None if self.checkpoint_dir is None else EpochCheckpoints(self.checkpoint_dir)
        if checkpoints is not None and self.resume and checkpoints.epochs():
            return self._resume(checkpoints, X, X_valid)
        seeds = draw_seeds(self.random_state)
        resumes = bool(self.warm_start) and hasattr(self, "net_")
        if checkpoints is not None:
            self._check_free(checkpoints, len(self.history_) if resumes else 0)
        tokenizer = self._tokenizer if resumes else None
        corpus = read_training_data(self, X, X_valid, seed=seeds.split, hash_seed=seeds.hash, tokenizer=tokenizer)
        net = self._net_to_train(corpus, seeds, device, resumes=resumes)
        self._seeds, self._first_epoch = seeds, len(net.history)
        return self._train(net, corpus, self._settings(), checkpoints)

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def partial_fit(self, X: Any, y: Any = None) -> HsigmoidLanguageModel:
        """Train on more sentences, once over them, going on from what was learned before.

        The step size is constant and no sentences are held out: ``learning_rate_schedule``, ``lr_plateau``,
        ``max_epochs``, ``max_time``, ``early_stopping``, ``checkpoint_dir`` and what hangs on them have no effect.

        Parameters
        ----------
        X : iterable of (str or iterable of str), path-like or callable
            Sentences, as in ``fit``. If nothing was learned before, the words of these are all that will ever be known,
            unless ``vocabulary`` names them.
        y : None
            Ignored.

        Returns
        -------
        HsigmoidLanguageModel
            Itself.

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
        self._train(net, corpus, self._settings().single_epoch(), None)
        for entry in net.history[-1:]:
            entry["batches"] = []  # a measure of every batch would fill the memory in the end
        return self

    def _check_parameters(self) -> None:
        """Check what the declared constraints cannot express."""
        check_schedule_and_callbacks(self)
        name = type(self).__name__
        if self.direct_connections == "hashed" and self.output != "hsigmoid":
            raise ValueError(
                f"{name}(direct_connections='hashed') needs output='hsigmoid', where a word has the scores of a path "
                f"and not of all words. Got output={self.output!r}; set direct_connections=True or False."
            )
        if self.resume and self.checkpoint_dir is None:
            raise ValueError(f"{name}(resume=True) needs checkpoint_dir, the folder of the training to go on with.")
        if self.resume and self.early_stopping and self.keep == "last":
            raise ValueError(
                f"{name}(early_stopping=True, resume=True) returns to the best epoch, which keep='last' does not keep. "
                "Set keep='best' or 'all'."
            )

    def _settings(self) -> TrainingSettings:
        return TrainingSettings.of(self, seed=self._seeds.order, restore_best=True)

    def _net_to_train(self, corpus: TrainingData, seeds: Seeds, device: str, *, resumes: bool) -> LanguageNet:
        vocabulary, name = corpus.tokenizer.vocabulary, type(self).__name__
        if resumes:
            check_same_network(self, self.net_, self._tokenizer)
            return self.net_
        tree = None
        if self.output == "hsigmoid":
            tree = language_tree(self.tree, corpus.windows, vocabulary.n_classes, seed=seeds.hash, caller=name)
        with plain_torch(device):
            net = make_language_net(language_architecture(self, vocabulary, seeds.hash), tree, device)
            with torch_seed(seeds.module, device):
                net.initialize()
        return net

    def _check_free(self, checkpoints: EpochCheckpoints, n_epochs: int) -> None:
        later = [epoch for epoch in checkpoints.epochs() if epoch > n_epochs]
        if later:
            raise ValueError(
                f"{type(self).__name__}: checkpoint_dir={str(checkpoints.folder)!r} holds "
                f"{checkpoints.path(later[0]).name} of an earlier training. Set resume=True to go on with that, or "
                "give another folder, or delete it."
            )

    def _resume(self, checkpoints: EpochCheckpoints, X: Any, X_valid: Any) -> HsigmoidLanguageModel:
        """Go on with an interrupted training as if it had not been interrupted."""
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
        rates = [group["lr"] for group in net.optimizer_.param_groups]
        self._seeds, self._first_epoch, self._trained_on, self.log_ = seeds, first, model._trained_on, model.log_
        self._hold(net, corpus.tokenizer, list(model.history_))
        patience = self.n_iter_no_change if self.early_stopping else None
        if last - first >= self.max_epochs or (patience is not None and last - best >= patience):
            if weights:
                net.module_.load_state_dict(weights)
            return self
        return self._train(net, corpus, self._settings(), checkpoints, Resumed(first, rates, weights))

    def _train(
        self,
        net: LanguageNet,
        corpus: TrainingData,
        settings: TrainingSettings,
        checkpoints: EpochCheckpoints | None,
        resumed: Resumed | None = None,
    ) -> HsigmoidLanguageModel:
        """Train the net and keep it."""
        is_new = not hasattr(self, "net_") or net is not self.net_
        log, history = ([], []) if is_new else (self.log_, self.history_)
        train, valid = WindowDataset(corpus.windows), None
        last_callbacks: list[tuple[str, Callback]] = []
        if corpus.valid_windows is not None:
            valid = WindowDataset(corpus.valid_windows)
        if settings.log_every is not None:
            valid_loss = None
            if corpus.valid_windows is not None:
                some = corpus.valid_windows.evenly_spaced(_LOGGED_WINDOWS)
                valid_loss = lambda: -float(net.score_windows(some).mean())  # noqa: E731 - of this training alone
            step_log = StepLog(settings.log_every, valid_loss, log, show=settings.verbose > 1)
            last_callbacks.append(("step_log", step_log))
        self._trained_on = None
        if checkpoints is not None:
            self._trained_on = corpus.windows.digest()
            save = SaveCheckpoints(
                checkpoints, lambda: self._snapshot(net, corpus.tokenizer, log), self.keep, self._first_epoch
            )
            last_callbacks.append(("checkpoints", save))
        with plain_torch(torch.device(net.device).type):
            optimizer = net.make_optimizer(
                self.optimizer,
                settings.learning_rate,
                n_words=min(settings.batch_size, len(train)),
                bias_learning_rate=float(self.bias_learning_rate),
                direct_learning_rate=float(self.direct_learning_rate),
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
                first_callbacks=[("seed_epochs", SeedEpochs(settings.seed, generator))],
                last_callbacks=last_callbacks,
                first_epoch=None if resumed is None else resumed.first_epoch,
                best_weights=None if resumed is None else resumed.best_weights,
            )
        self.log_ = log
        self._hold(net, corpus.tokenizer, history)
        warn_of_interrupt(net)
        return self

    def _snapshot(self, net: LanguageNet, tokenizer: Tokenizer, log: list[dict[str, float]]) -> HsigmoidLanguageModel:
        """Return a model that shares the net and can be saved."""
        seed = self.random_state if isinstance(self.random_state, Integral) else None
        parameters = self.get_params(deep=False) | {"callbacks": None, "random_state": seed}
        model = type(self)(**parameters | {"checkpoint_dir": folder_of(self.checkpoint_dir)})
        model._seeds, model._first_epoch = self._seeds, self._first_epoch
        model._trained_on, model.log_ = self._trained_on, log
        model._hold(net, tokenizer, [])
        return model
