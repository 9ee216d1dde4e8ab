"""A neural language model over n-grams, as a scikit-learn estimator."""

from __future__ import annotations

import signal
import warnings
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from sklearn_hashnlp._sklearn import Interval, StrOptions, fit_context
from sklearn_hashnlp.estimators._language_architecture import language_architecture
from sklearn_hashnlp.estimators._language_corpus import LanguageCorpus, read_language_corpus
from sklearn_hashnlp.estimators._language_net import LanguageNet, make_language_net
from sklearn_hashnlp.estimators._language_plan import LanguagePlan, language_plan
from sklearn_hashnlp.estimators._language_training import train_language
from sklearn_hashnlp.estimators._language_tree import TREES, language_tree
from sklearn_hashnlp.estimators._trained_language_model import TrainedLanguageModel
from sklearn_hashnlp.estimators._training import plain_torch, resolve_device, torch_seed
from sklearn_hashnlp.estimators._training_settings import Seeds, draw_seeds
from sklearn_hashnlp.trees import SoftmaxTree


class HsigmoidLanguageModel(TrainedLanguageModel):
    """Predict the next word."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
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
        "embedding": [StrOptions({"table", "hash"})],
        "n_embeddings": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "n_buckets": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "vocabulary": [dict, None],
        "max_vocabulary": [Interval(Integral, 1, None, closed="left"), None],
        "min_count": [Interval(Integral, 1, None, closed="left")],
        "padding": [StrOptions({"full", "reference"})],
        "optimizer": [StrOptions({"adagrad", "adam"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "bias_learning_rate": [Interval(Real, 0, None, closed="neither")],
        "learning_rate_schedule": [StrOptions({"constant", "linear"})],
        "lr_plateau": [tuple, list, None],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "log_every": [Interval(Integral, 1, None, closed="left"), None],
        "checkpoint_dir": [str, PathLike, None],
        "keep": [StrOptions({"best", "last", "all"})],
        "resume": ["boolean"],
        "warm_start": ["boolean"],
        "device": [StrOptions({"cpu", "cuda", "auto"})],
        "callbacks": [list, None],
        "random_state": ["random_state"],
        "verbose": [Interval(Integral, 0, 3, closed="both")],
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
        dropout: float = 0.0,
        embedding_dropout: float = 0.0,
        init: str = "default",
        embedding: str = "table",
        n_embeddings: int = 10**6,
        n_buckets: int = 10**5,
        vocabulary: dict[str, int] | None = None,
        max_vocabulary: int | None = None,
        min_count: int = 1,
        padding: str = "full",
        optimizer: str = "adagrad",
        learning_rate: float = 0.1,
        bias_learning_rate: float = 1.0,
        learning_rate_schedule: str = "constant",
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
        self.vocabulary = vocabulary
        self.max_vocabulary = max_vocabulary
        self.min_count = min_count
        self.padding = padding
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.bias_learning_rate = bias_learning_rate
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

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, X_valid: Any = None) -> HsigmoidLanguageModel:
        """Train on sentences.

        Parameters
        ----------
        X : iterable of (str or list of str), path-like or callable
            Sentences: strings, which are split at white space, or lists of words; the path of a text file with a
            sentence a line; or a reader, a callable that returns an iterator of sentences or, with ``vocabulary``, of
            tuples of ``order`` numbers of words.
        y : None
            Ignored.
        X_valid : as X, default=None
            Sentences to measure every epoch by. None with ``early_stopping``: some of ``X`` are held out.

        Returns
        -------
        HsigmoidLanguageModel
            Itself.
        """
        name = type(self).__name__
        device = resolve_device(self.device, caller=name)
        seeds = draw_seeds(self.random_state)
        corpus = read_language_corpus(self, X, X_valid, seed=seeds.split)
        net = self._fresh_net(corpus, seeds, device)
        self._seeds, self._first_epoch = seeds, 0
        return self._train(net, corpus, language_plan(self, seeds.order))

    def _fresh_net(self, corpus: LanguageCorpus, seeds: Seeds, device: str) -> LanguageNet:
        vocabulary = corpus.reader.vocabulary
        tree = None
        if self.output == "hsigmoid":
            tree = language_tree(
                self.tree,
                corpus.windows,
                vocabulary.n_classes,
                n_inputs=len(vocabulary),
                seed=seeds.hash,
                caller=type(self).__name__,
            )
        with plain_torch(device):
            net = make_language_net(language_architecture(self, vocabulary, seeds.hash), tree, device)
            with torch_seed(seeds.module, device):
                net.initialize()
        return net

    def _train(self, net: LanguageNet, corpus: LanguageCorpus, plan: LanguagePlan) -> HsigmoidLanguageModel:
        with plain_torch(net.device):
            self.log_ = train_language(net, corpus.windows, corpus.valid_windows, plan)
        self._hold(net, corpus.reader)
        # Whoever has put a handler of their own in the place of Python's knows of the interrupt already.
        if net.interrupted_ and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            warnings.warn("Training interrupted by user.", stacklevel=4)  # scikit-learn's words
        return self
