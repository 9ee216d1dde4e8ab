"""SGNNSentenceEncoder: sentence embeddings without a vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np

from sklearn_hashnlp._device import Device, resolve_device
from sklearn_hashnlp._sklearn import MAX_INTEGER, MAX_REAL, Interval, fit_context, literal_options
from sklearn_hashnlp.nn._sgnn_transformer import Init
from sklearn_hashnlp.sentences._fitted_encoder import FittedSentenceEncoder
from sklearn_hashnlp.sentences._paragraph_batches import ParagraphBatches, TrainingText
from sklearn_hashnlp.sentences._sentence_net import (
    RecordTraining,
    SentenceObjective,
    TrainingState,
    WarmUpAndDecay,
    load_weights,
    make_sentence_net,
    score_of,
    take_step_logs,
)
from sklearn_hashnlp.sentences._sentence_parameters import (
    Network,
    Objectives,
    check_parameters,
    check_same_training,
    first_and_last,
    sentence_architecture,
)
from sklearn_hashnlp.sentences._sentence_reader import (
    Paragraphs,
    SentenceReader,
    WordFrequencies,
    read_paragraphs,
    warn_of_single_sentences,
)
from sklearn_hashnlp.sentences._word_pretraining import pretrain, set_context_component
from sklearn_hashnlp.text import split_sentences
from sklearn_hashnlp.training._callbacks import epoch_reports
from sklearn_hashnlp.training._check_unchanged import cannot_continue
from sklearn_hashnlp.training._checkpoints import Checkpoints, SaveCheckpoints
from sklearn_hashnlp.training._fit import Resumed, fit_net
from sklearn_hashnlp.training._fit_task import atomic_fit, reported_to_callbacks
from sklearn_hashnlp.training._settings import TrainingSettings, as_bundle, draw_seeds
from sklearn_hashnlp.training._torch_scope import plain_torch

_MASK_PROBABILITY = 0.15  # of masking a word


class SGNNSentenceEncoder(FittedSentenceEncoder):
    """Encode sentences as embeddings for cosine similarity, without a vocabulary.

    It is trained on plain paragraphs. An embedding has two parts. The first depends on the spelling
    of the words: the mean of their self-governing projections [1]_ [2]_, weighted by how rare the
    words are, without the principal components common to all sentences. The second depends on the
    use of the words: word embeddings computed from the projections, passed through a Transformer
    [3]_ if there are layers, and pooled. ``fit`` trains it in two stages. First word embeddings are
    fitted to the co-occurrence of words by least squares. Then the second part is trained, except
    for its tables, by a contrastive loss: sentences of the same paragraph should be similar,
    sentences of different paragraphs should not [2]_. The loss is computed from the second part
    only.

    Parameters
    ----------
    n_projections, n_bits : int, default=80, 14
        Number of projections of a word and bits of each, T and d; see
        :class:`~sklearn_hashnlp.text.SGNNProjector`.
    ngram_range : (int, int), default=(2, 5)
        Minimum and maximum length of the character n-grams of a word.
    projection_dim : int, default=1024
        Dimension of the first part.
    context_weight : float or "auto", default="auto"
        Weight of the second part in the cosine similarity, from 0 to 1; the first part has the
        rest. "auto" is n / (n + 50) for a text of n words: short texts are compared by spelling,
        long ones by the use of their words. :meth:`transform` reads it, so that ``set_params``
        changes it after training; but with 0 or 1 ``fit`` learns only one part. The network of [2]_
        is the second part alone, 1.
    n_components_removed : int or "auto", default="auto"
        Number of principal components, common to all sentences, that are removed from the first
        part. "auto" is one for each 1,000 training sentences, 30 at most; the other components are
        divided by the fifth root of their variances. From the second part n^2 / (n^2 + 35^2) of the
        first component is removed for a text of n words.
    network : Network or "auto", default="auto"
        The network of the second part, a :class:`Network`. "auto" is ``Network()``, which has no
        layers.
    init : {"identity", "random"}, default="identity"
        Initialization of the Transformer: layers that are the identity, or the usual random
        weights.
    n_tables, table_bits : int, default=2, 16
        Number of tables, and bits of their indices: rows that hashed bits of a word's projection
        select are added to a linear layer in the word embeddings; with 0 tables there is only the
        linear layer.
    word_steps : int, default=5
        Conjugate gradient steps of the tables in the first stage, on the residuals of the linear
        layer's ridge regression. With 0 the first stage trains neither.
    objectives : Objectives or "auto", default="auto"
        The losses of the second stage, :class:`Objectives`. "auto" is ``Objectives()``, InfoNCE of
        the sentences in paragraphs.
    sentence_splitter : callable or None, default=None
        Splits a text into a list of sentences; None is
        :func:`~sklearn_hashnlp.text.split_sentences`.
    max_sentences : int, default=8
        Longer paragraphs are split.
    max_words : int, default=512
        Longer sentences are truncated, with a warning.
    max_epochs : int, default=1
        Number of epochs of the second stage; 0 skips it.
    batch_size : int, default=256
        Sentences per batch, of whole paragraphs.
    learning_rate : float, default=3e-5
        Learning rate of Adam; with Transformer layers use more, such as 5e-4. It is warmed up in
        the first 2 % of the steps and then decays linearly to zero. The linear layer's is
        sqrt(n_projections * n_bits) times as large.
    scoring : callable or None, default=None
        Function of the encoder that returns a validation score, higher is better, such as the rank
        correlation with human similarity judgements. It is called before and after the first stage
        and for each entry of ``log_``; the best weights of the second stage are restored at the
        end.
    checkpoint_dir : str, path-like or None, default=None
        Folder for checkpoints: the model with its training state, saved every ``checkpoint_every``
        seconds, after every epoch and at the end. :func:`~sklearn_hashnlp.persistence.load_model`
        loads it.
    checkpoint_every : float, default=240
        Seconds between checkpoints.
    resume : bool, default=False
        Whether ``fit`` resumes the training in ``checkpoint_dir``, if there is one. On a CPU the
        weights are the same bit for bit as without the interruption. Paragraphs and parameters must
        be the same.
    n_jobs : int or None, default=1
        Number of threads of ``fit`` and ``transform``.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Device to compute on; "auto" is a CUDA device if there is one.
    callbacks : list of skorch callbacks and functions, or None, default=None
        Passed to skorch. :class:`~sklearn_hashnlp.training.TimeLimit` limits the seconds of the
        second stage, and :class:`~sklearn_hashnlp.training.StepLog` adds entries to ``log_`` within
        epochs. A function reports the progress, as that of a
        :class:`~sklearn_hashnlp.classifiers.HashEmbeddingClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seeds the random projections, the initial weights and the order of paragraphs. On a CPU the
        same int gives the same encoder bit for bit, for any number of threads.
    verbose : int, default=0
        0 prints nothing, 1 a line per step of the first stage and per epoch, 2 also the entries of
        ``log_``.

    Attributes
    ----------
    history_ : list of dict
        One entry per epoch or call of ``partial_fit``: ``epoch``, ``train_loss`` and ``dur``
        (seconds).
    log_ : list of dict
        The training log: ``stage``, which is "untrained", "words" or "sentences", ``epoch``,
        ``step``, and if available ``train_loss`` and ``score``.
    waiting_share_ : float
        Fraction of the time of the second stage in which training steps waited for batches.
    n_parameters_ : int
        Number of parameters of the network.
    net_ : skorch.NeuralNet
        The trained net; ``net_.module_.network`` is its torch module.

    See Also
    --------
    DistilledSentenceEncoder : Learns to reproduce the vectors of another model.
    sklearn_hashnlp.nn.SGNNTransformer : The network of the second part.
    sklearn_hashnlp.datasets.stream_wikipedia : Paragraphs to train on.

    Notes
    -----
    ``fit`` counts the words of the text and computes their projections, but the encoder does not
    store words: only hashed word counts, for the weights.

    An interrupt (Ctrl-C) in the second stage ends training early, and ``fit`` raises
    ``KeyboardInterrupt``; the encoder is then fitted, with its current weights or, with
    ``scoring``, the best. Any other error leaves the encoder as it was, except for weights that
    ``partial_fit`` had already updated.

    References
    ----------
    .. [1] Ravi & Kozareva (2018). Self-governing neural networks for on-device short text
           classification. EMNLP.
    .. [2] Chevalier (2019). SGNN-Transformer sentence model trained by the paragraph-skip-gram-like
           SimilarityBXENT. Université Laval, IFT-7022.
    .. [3] Vaswani et al. (2017). Attention is all you need. NIPS.

    Examples
    --------
    >>> from sklearn_hashnlp.sentences import SGNNSentenceEncoder
    >>> paragraphs = [
    ...     "The cat sleeps. It purrs.",
    ...     "Shares fell sharply. Investors sold them.",
    ... ] * 4
    >>> encoder = SGNNSentenceEncoder(random_state=0)
    >>> encoder = encoder.fit(paragraphs)
    >>> encoder.transform(["A cat sleeps.", "Cats slept.", "They sold."]).shape
    (3, 1152)
    >>> near, far = encoder.similarity(
    ...     ["A cat sleeps."] * 2, ["Cats slept.", "They sold."]
    ... )
    >>> bool(near > far)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_projections": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "n_bits": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "ngram_range": [tuple, list],
        "projection_dim": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "context_weight": [Interval(Real, 0, 1, closed="both"), literal_options(Literal["auto"])],
        "n_components_removed": [
            Interval(Integral, 0, MAX_INTEGER, closed="both"),
            literal_options(Literal["auto"]),
        ],
        "network": [Network, literal_options(Literal["auto"])],
        "init": [literal_options(Init)],
        "n_tables": [Interval(Integral, 0, MAX_INTEGER, closed="both")],
        "table_bits": [Interval(Integral, 1, 24, closed="both")],
        "word_steps": [Interval(Integral, 0, MAX_INTEGER, closed="both")],
        "objectives": [Objectives, literal_options(Literal["auto"])],
        "sentence_splitter": [callable, None],
        "max_sentences": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "max_words": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "max_epochs": [Interval(Integral, 0, MAX_INTEGER, closed="both")],
        "batch_size": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "learning_rate": [Interval(Real, 0, MAX_REAL, closed="right")],
        "scoring": [callable, None],
        "checkpoint_dir": [str, PathLike, None],
        "checkpoint_every": [Interval(Real, 0, None, closed="left")],
        "resume": ["boolean"],
        "n_jobs": [Integral, None],
        "device": [literal_options(Device)],
        "callbacks": [list, None],
        "random_state": ["random_state"],
        "verbose": [Interval(Integral, 0, 2, closed="both")],
    }

    _check_parameters = check_parameters

    def __init__(
        self,
        *,
        n_projections: int = 80,
        n_bits: int = 14,
        ngram_range: tuple[int, int] = (2, 5),
        projection_dim: int = 1024,
        context_weight: float | Literal["auto"] = "auto",
        n_components_removed: int | Literal["auto"] = "auto",
        network: Network | Literal["auto"] = "auto",
        init: Init = "identity",
        n_tables: int = 2,
        table_bits: int = 16,
        word_steps: int = 5,
        objectives: Objectives | Literal["auto"] = "auto",
        sentence_splitter: Callable[[str], list[str]] | None = None,
        max_sentences: int = 8,
        max_words: int = 512,
        max_epochs: int = 1,
        batch_size: int = 256,
        learning_rate: float = 3e-5,
        scoring: Callable[[Any], float] | None = None,
        checkpoint_dir: str | PathLike[str] | None = None,
        checkpoint_every: float = 240.0,
        resume: bool = False,
        n_jobs: int | None = 1,
        device: Device = "cpu",
        callbacks: list[Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_projections = n_projections
        self.n_bits = n_bits
        self.ngram_range = ngram_range
        self.projection_dim = projection_dim
        self.context_weight = context_weight
        self.n_components_removed = n_components_removed
        self.network = network
        self.init = init
        self.n_tables = n_tables
        self.table_bits = table_bits
        self.word_steps = word_steps
        self.objectives = objectives
        self.sentence_splitter = sentence_splitter
        self.max_sentences = max_sentences
        self.max_words = max_words
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.scoring = scoring
        self.checkpoint_dir = checkpoint_dir
        self.checkpoint_every = checkpoint_every
        self.resume = resume
        self.n_jobs = n_jobs
        self.device = device
        self.callbacks = callbacks
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def report(cls) -> Self:
        """Return an encoder with the network and training of the report that it is based on.

        The report (Chevalier, 2019) trained a Transformer alone: 6 layers of width 512 with 8 heads
        and maximum pooling, from random weights, on projections of character 1- to 3-grams, with
        the loss :class:`~sklearn_hashnlp.nn.SimilarityBXENT`. It does not give a learning rate. On
        a CPU the training takes days: set ``device="cuda"``.

        Returns
        -------
        SGNNSentenceEncoder
            A new encoder, not fitted.

        Examples
        --------
        >>> from sklearn_hashnlp import SGNNSentenceEncoder
        >>> encoder = SGNNSentenceEncoder.report().set_params(
        ...     device="cuda", max_epochs=10
        ... )
        >>> encoder.network
        Network(embedding_dim=512, feedforward_size=2048, n_layers=6, pooling='max')
        """
        return cls(
            ngram_range=(1, 3),
            context_weight=1.0,
            n_components_removed=0,
            network=Network(embedding_dim=512, n_layers=6, feedforward_size=2048, pooling="max"),
            init="random",
            n_tables=0,
            word_steps=0,
            objectives=Objectives("bxent"),
            learning_rate=5e-4,
        )

    @fit_context(prefer_skip_nested_validation=True)
    @reported_to_callbacks
    @atomic_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Train the encoder on paragraphs.

        Parameters
        ----------
        X : iterable of (str, list of str or path-like), path-like or callable
            Paragraphs: texts, which are split into sentences, or lists of sentences. A path-like
            object such as ``pathlib.Path``: a text file in UTF-8 with one paragraph per line,
            possibly compressed. A callable without arguments returns an iterator of paragraphs.
        y : Ignored
            To learn from the vectors of another model use :class:`DistilledSentenceEncoder`.

        Returns
        -------
        self : SGNNSentenceEncoder

        Raises
        ------
        ValueError
            If a parameter is not as described, ``X`` has no words, or training diverges; if
            ``checkpoint_dir`` is not empty and ``resume`` is not set, or has a training with other
            paragraphs or parameters.
        """
        self._check_parameters()
        device = resolve_device(self.device, caller=type(self).__name__)
        checkpoints = Checkpoints.of(self, every=float(self.checkpoint_every))
        model = None if checkpoints is None else checkpoints.begin(self)
        if model is not None:
            check_same_training(self, model)
        paragraphs = self._read(X)
        if model is not None:
            return self._resume(model, paragraphs, checkpoints)
        text = self._begin(paragraphs, device)
        self._training_state = TrainingState()
        if checkpoints is not None:
            checkpoints.save(self._snapshot())
        return self._train(text, self._training_state, checkpoints)

    @fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Train for one epoch on more paragraphs, continuing from earlier calls.

        The first call fits word embeddings, word frequencies and common components to its
        paragraphs; later calls only change the common component of the second part. The learning
        rate is constant, and losses have their final weights. ``max_epochs``, ``checkpoint_dir``
        and time limits have no effect.

        Parameters
        ----------
        X : iterable of (str, list of str or path-like), path-like or callable
            Paragraphs, as in ``fit``.
        y : Ignored

        Returns
        -------
        self : SGNNSentenceEncoder
        """
        self._check_parameters()
        device = resolve_device(self.device, caller=type(self).__name__)
        paragraphs = self._read(X)
        if hasattr(self, "net_"):
            text = TrainingText.of(paragraphs, self._reader)
        else:
            text = self._begin(paragraphs, device)
        return self._train(text, None, None)

    def _read(self, X: Any) -> Paragraphs:
        name = type(self).__name__
        paragraphs = read_paragraphs(
            X,
            split=split_sentences if self.sentence_splitter is None else self.sentence_splitter,
            max_sentences=int(self.max_sentences),
            max_words=int(self.max_words),
            caller=name,
        )
        if not len(paragraphs):
            raise ValueError(f"{name}: there is no word in X to learn from.")
        return paragraphs

    def _begin(self, paragraphs: Paragraphs, device: str) -> TrainingText:
        """Make a new net and train its first stage."""
        seeds = draw_seeds(self.random_state)
        reader = SentenceReader.of(self, seeds.hash, WordFrequencies.count(paragraphs))
        net = make_sentence_net(sentence_architecture(self), device).initialized(seeds.module)
        self.log_ = []
        self.waiting_share_ = 0.0
        self._seeds = seeds
        self._trained_on = paragraphs.digest()
        self._training_state = None
        self._reader = reader
        self._keep_net(net, [])
        text = TrainingText.of(paragraphs, reader)
        self._score("untrained")
        with plain_torch(device):
            pretrain(
                net.module_.network,
                text,
                word_steps=int(self.word_steps),
                n_components_removed=self.n_components_removed,
                seed=seeds.split,
                verbose=int(self.verbose),
            )
        self._score("words")
        return text

    def _score(self, stage: str) -> None:
        if self.scoring is not None:
            self.log_.append({"stage": stage, "epoch": 0, "step": 0, "score": score_of(self)})
            if self.verbose > 1:
                print(f"{stage}: score {self.log_[-1]['score']:.4f}")

    def _resume(self, model: Self, paragraphs: Paragraphs, checkpoints: Checkpoints | None) -> Self:
        """Resume the training of a checkpoint as if it had not been interrupted."""
        if model._trained_on != paragraphs.digest():
            raise cannot_continue(
                self, "on these paragraphs", "on others", "Give the same ones in the same order"
            )
        for name in (
            "log_",
            "waiting_share_",
            "_seeds",
            "_trained_on",
            "_training_state",
            "_reader",
        ):
            setattr(self, name, getattr(model, name))
        self._keep_net(model.net_, list(model.history_))
        if self._training_state is None:
            return self
        return self._train(
            TrainingText.of(paragraphs, self._reader), self._training_state, checkpoints
        )

    def _train(
        self, text: TrainingText, state: TrainingState | None, checkpoints: Checkpoints | None
    ) -> Self:
        net, streams = self.net_, state is None
        state = TrainingState() if state is None else state
        learns = any(parameter.requires_grad for parameter in net.module_.network.parameters())
        if not learns or (not streams and self.max_epochs == 0):
            return self._finished(checkpoints)
        n_before = len(net.history)
        seed = self._seeds.of_order(n_before) if streams else self._seeds.order

        def update_component() -> None:
            if self.n_components_removed == "auto":
                with plain_torch(net.device_type):
                    set_context_component(net.module_.network, text)

        def score() -> float:
            update_component()
            return score_of(self)

        def so_far() -> SGNNSentenceEncoder:
            update_component()
            return self._so_far()

        batches = ParagraphBatches(
            text,
            batch_size=int(self.batch_size),
            seed=seed,
            epoch=state.epoch,
            first=state.batch,
            n_epochs=None if streams else int(self.max_epochs),
            mask_probability=_MASK_PROBABILITY if net.module_.masked_head is not None else 0.0,
            n_jobs=self.n_jobs,
        )
        objectives = as_bundle(self.objectives, Objectives())
        if not streams and any(first_and_last(objectives.sentence_weight)):
            warn_of_single_sentences(text.paragraphs, caller=type(self).__name__)
        settings, every = take_step_logs(TrainingSettings.of(self, seed=seed), self.log_)
        scoring = None if self.scoring is None else score
        record = RecordTraining(
            state, self.log_, every=every, scoring=scoring, show=settings.verbose > 1
        )
        callbacks: list[Any] = [record, WarmUpAndDecay(not streams)]
        if checkpoints is not None:
            callbacks.append(SaveCheckpoints(checkpoints, self._snapshot))
        with plain_torch(net.device_type):
            fit_net(
                net,
                batches,
                None,
                settings.single_epoch() if streams else settings,
                optimizer=net.optimizer_,
                loss=SentenceObjective(objectives, seed),
                first_callbacks=callbacks,
                last_callbacks=epoch_reports(self, so_far),
                resumed=Resumed(n_before - state.epoch),
            )
        record.scoring = None  # it holds the paragraphs
        load_weights(net, state.best_weights)  # without scoring there are none
        update_component()
        self.waiting_share_ = batches.waited / batches.total if batches.total else 0.0
        self._keep_net(net, self.history_)
        return self._finished(None if net.interrupted_ else checkpoints)

    def _finished(self, checkpoints: Checkpoints | None) -> Self:
        self._training_state = None  # nothing is left to resume
        if checkpoints is not None:
            checkpoints.save(self._snapshot(), training_state=bool(self.net_.optimizer_.state))
        return self
