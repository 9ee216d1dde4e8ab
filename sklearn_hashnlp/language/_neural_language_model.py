"""Base class of language models with a neural network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from os import PathLike
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.language._base_language_model import BATCH_SIZE, BaseLanguageModel
from sklearn_hashnlp.language._corpus import word_encoder_of
from sklearn_hashnlp.language._language_net import (
    LanguageNet,
    learned_tree,
    mean_hidden_states,
    net_from_state,
)
from sklearn_hashnlp.language._tokenizer import Tokenizer, WordWindows
from sklearn_hashnlp.nn._hierarchical_softmax import Search
from sklearn_hashnlp.persistence import save_word_vectors
from sklearn_hashnlp.training._estimator import FittedNet
from sklearn_hashnlp.training._settings import Seeds
from sklearn_hashnlp.training._torch_scope import plain_torch
from sklearn_hashnlp.trees import SoftmaxTree

_OF_TRAINING = (
    *("_seeds", "_first_epoch", "_n_fitted", "_trained_on"),
    *("batch_size_", "learning_rate_", "max_epochs_"),
)
_MAX_WORDS = 2**12  # per batch: unpacked projections need a thousand times the memory


class NeuralLanguageModel(BaseLanguageModel, FittedNet):
    """Predictions and state of :class:`HsigmoidLanguageModel`; ``fit`` calls :meth:`_hold`."""

    _net: LanguageNet
    log_: list[dict[str, float]]
    _seeds: Seeds
    _first_epoch: int
    _n_fitted: int  # number of training windows; 0 if trained by ``partial_fit`` alone
    _trained_on: int | None  # digest of the training windows, if there are checkpoints
    # Values used in the last training.
    batch_size_: int
    learning_rate_: float
    max_epochs_: int
    _measures = ("train_loss", "valid_loss", "train_perplexity", "valid_perplexity", "dur")
    _net_from_state = staticmethod(net_from_state)

    def predict(self, contexts: Any, search: Search = "exact") -> NDArray[np.str_]:
        """Predict the most probable next word.

        Parameters
        ----------
        contexts : iterable of (str or list of str)
            As in :meth:`KneserNeyLanguageModel.predict`.
        search : {"exact", "greedy"}, default="exact"
            ``"greedy"`` follows the more probable branch at each node of the tree. This is faster,
            but does not always return the most probable word. Only with ``output="hsigmoid"``.

        Returns
        -------
        ndarray of str of shape (n_contexts,)
            The words; ``</s>`` ends the sentence.
        """
        check_is_fitted(self)
        has_tree = self.net_.module_.output == "hsigmoid"
        if search not in ("exact", "greedy") or (search == "greedy" and not has_tree):
            choices = (
                "'exact' or 'greedy'," if has_tree else "'exact', since the model has no tree,"
            )
            raise ValueError(
                f"{type(self).__name__}.predict needs search to be {choices} got {search!r}."
            )
        parts = (self._compute("predict", part, search) for part in self._batches_of(contexts))
        return self._words_of(part.cpu().numpy() for part in parts)

    def learned_tree(self, X: Any) -> SoftmaxTree:
        """Build a tree for another model with the same vocabulary from this one's hidden states.

        Words that the network predicts from similar hidden states share a cluster [1]_. One or two
        epochs of a small network suffice::

            tree, vocabulary = first.learned_tree(X), first.vocabulary_
            HsigmoidLanguageModel(tree=tree, vocabulary=vocabulary).fit(X)

        Parameters
        ----------
        X : iterable of (str or list of str), path-like or callable
            Training sentences of this model, as in ``fit``.

        Returns
        -------
        SoftmaxTree
            Its classes are all words of ``vocabulary_`` without ``<s>``.

        References
        ----------
        .. [1] Mnih & Hinton (2008). A scalable hierarchical distributed language model. NIPS,
               section 4.
        """
        tree: SoftmaxTree = self._of_states(learned_tree, X, seed=0)
        return tree

    def context_vectors(self, X: Any) -> NDArray[np.float32]:
        """Compute a vector for each word from the contexts that it occurs in.

        The vector is the mean hidden state of the network before the word, minus the mean over all
        words. Words that occur in similar contexts have similar vectors; ``embeddings_`` instead
        compares words by the words after them.

        Parameters
        ----------
        X : iterable of (str or list of str), path-like or callable
            Training sentences of this model, as in ``fit``.

        Returns
        -------
        ndarray of float32 of shape (n_words, hidden_size)
            The vectors in the order of ``vocabulary_``; zeros for ``<s>`` and for words that are
            not in ``X``. With ``direct_connections=True`` they also hold the context's
            ``(order - 1) * embedding_dim`` embeddings.
        """
        vectors = self._of_states(mean_hidden_states, X)
        return np.concatenate([vectors, np.zeros_like(vectors[:1])])

    @property
    def embeddings_(self) -> NDArray[np.float32]:
        """The vectors of all words in ``vocabulary_`` order, of shape (n_words, embedding_dim)."""
        return self._vectors(self._words())

    def most_similar(self, word: str, n: int = 10) -> list[tuple[str, float]]:
        """Return the words with the highest cosine similarity to a word.

        Parameters
        ----------
        word : str
            A word of ``vocabulary_``; any word with ``embedding="hash"`` or ``"sgnn"``.
        n : int, default=10
            Maximum number of words.

        Returns
        -------
        list of (str, float)
            Words and their cosine similarities, the most similar first; ties are in the order of
            ``vocabulary_``. The word itself and the special tokens ``<s>``, ``</s>`` and ``<unk>``
            are excluded.
        """
        return self._nearest(self._unit_vectors([word])[0], n, {word}, "most_similar")

    def analogy(self, first: str, second: str, third: str, n: int = 10) -> list[tuple[str, float]]:
        """Return the words that are to ``third`` as ``second`` is to ``first``.

        Their vectors have the highest cosine similarity to ``second - first + third``, where each
        of these is a unit vector (Mikolov, Yih & Zweig 2013, section 4).

        Parameters
        ----------
        first, second, third : str
            Words of ``vocabulary_``; any words with ``embedding="hash"`` or ``"sgnn"``.
        n : int, default=10
            Maximum number of words.

        Returns
        -------
        list of (str, float)
            As :meth:`most_similar`, without the three words.
        """
        one, two, three = self._unit_vectors([first, second, third])
        return self._nearest(two - one + three, n, {first, second, third}, "analogy")

    def save_word2vec(self, path: str | PathLike[str], *, binary: bool = False) -> None:
        """Write the vectors of all words to a file in word2vec's text or binary format.

        :func:`~sklearn_hashnlp.persistence.load_word_vectors` reads such files.
        """
        save_word_vectors(path, self._words(), self.embeddings_, binary=binary)

    def _of_states(self, function: Callable[..., Any], X: Any, **options: Any) -> Any:
        """Compute a function of the hidden states before the words of a text."""
        windows = self._windows(X)
        if len(windows) == 0:
            raise ValueError(
                f"{type(self).__name__} found no word to read: X is empty or its sentences too "
                "short."
            )
        with plain_torch(torch.device(self.net_.device).type):
            return function(self.net_, windows, self._tokenizer.vocabulary.n_classes, **options)

    @property
    def reads_across_sentences_(self) -> bool:
        """Whether the score of a sentence depends on the sentences before it."""
        return self._tokenizer.far.across_sentences

    def _log_probs(self, contexts: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(self._compute("log_prob", contexts).double().cpu().numpy())

    def _log_prob(self, windows: WordWindows) -> NDArray[np.float64]:
        with self._inference():
            return self._net.score_windows(windows)

    def _batch_size(self) -> int:
        return BATCH_SIZE  # the module splits large vocabularies itself

    def _topk(self, contexts: NDArray[np.int64], k: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        log_probs, ids = self._compute("topk", contexts, k)
        return log_probs.cpu().numpy(), ids.cpu().numpy()

    def _sampler(self, seed: int) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
        generator = torch.Generator(self.net_.device).manual_seed(seed)
        return lambda contexts: np.asarray(
            self._compute("sample", contexts, generator=generator).cpu().numpy()
        )

    def _compute(
        self, method: str, contexts: NDArray[np.int64], *arguments: Any, **options: Any
    ) -> Any:
        """Return the result of a method of the network for contexts."""
        with self._inference() as device:
            return getattr(self.net_.module_, method)(
                torch.from_numpy(contexts).to(device), *arguments, **options
            )

    def _vectors(self, words: list[str]) -> NDArray[np.float32]:
        word_encoder, word_to_id = (
            self._tokenizer.word_encoder,
            self._tokenizer.vocabulary.word_to_id,
        )
        codes = (
            np.array([word_to_id[word] for word in words])
            if word_encoder is None
            else word_encoder.encode(words)
        )
        with self._inference() as device:
            parts = torch.split(torch.from_numpy(codes.astype(np.int64, copy=False)), _MAX_WORDS)
            vectors = torch.cat(
                [self.net_.module_.embedding(part.to(device)).cpu() for part in parts]
            )
            return np.asarray(vectors.numpy())

    def _words(self) -> list[str]:
        check_is_fitted(self)
        return self._tokenizer.vocabulary.words

    def _unit_vectors(self, words: list[str]) -> NDArray[np.float64]:
        check_is_fitted(self)
        known = self._tokenizer.vocabulary.word_to_id
        for word in words:
            if not isinstance(word, str):
                raise TypeError(
                    f"{type(self).__name__} has vectors of words: strings, got {word!r}."
                )
            if self._tokenizer.word_encoder is None and word not in known:
                similar = " or ".join(map(repr, get_close_matches(word, known)))
                hint = f" Did you mean {similar}?" if similar else ""
                raise ValueError(f"The word {word!r} is not in the vocabulary of the model.{hint}")
        return _unit(self._vectors(words))

    def _nearest(
        self, vector: NDArray[np.float64], n: int, exclude: set[str], method: str
    ) -> list[tuple[str, float]]:
        if n < 1:
            raise ValueError(f"{type(self).__name__}.{method} needs n of at least 1, got {n!r}.")
        vocabulary = self._tokenizer.vocabulary
        # einsum sums in the same order for each word, unlike a matrix product: equal vectors are
        # equally similar.
        similarities = np.einsum("ij,j->i", _unit(self.embeddings_), _unit(vector[np.newaxis])[0])
        excluded = [vocabulary.start_id, vocabulary.end_id, vocabulary.unknown_id]
        excluded += [
            vocabulary.word_to_id[word] for word in exclude if word in vocabulary.word_to_id
        ]
        nearest = np.argsort(-similarities, kind="stable")[: n + len(excluded)].tolist()
        ids = [word_id for word_id in nearest if word_id not in excluded]
        return [(vocabulary.words[word_id], float(similarities[word_id])) for word_id in ids[:n]]

    @contextmanager
    def _inference(self) -> Iterator[torch.device]:
        device = torch.device(self.net_.device)
        with plain_torch(device.type), torch.inference_mode():
            yield device

    def _hold(self, net: LanguageNet, tokenizer: Tokenizer, history: list[dict[str, Any]]) -> Self:
        self._set_tokenizer(tokenizer)
        self._keep_net(net, history)
        return self

    def _copy_training(self, model: NeuralLanguageModel) -> None:
        for name in _OF_TRAINING:
            setattr(self, name, getattr(model, name))

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        check_is_fitted(self)
        values, arrays = self._tokenizer.to_state()
        net_values, net_arrays = self.net_.to_state()
        own = {
            "history": self.history_,
            "log": self.log_,
            "seeds": list(self._seeds),
            "first_epoch": self._first_epoch,
            "n_fitted": self._n_fitted,
            "trained_on": self._trained_on,
            "batch_size": self.batch_size_,
            "learning_rate": self.learning_rate_,
            "planned_epochs": self.max_epochs_,
        }
        return net_values | values | own, net_arrays | arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        architecture = values["architecture"]
        tokenizer = Tokenizer.from_state(
            values,
            arrays,
            order=architecture["order"],
            word_encoder=word_encoder_of(architecture),
            caller=type(self).__name__,
        )
        if architecture["num_classes"] != tokenizer.vocabulary.n_classes:
            raise ValueError(
                f"The net predicts {architecture['num_classes']} words, and the vocabulary has "
                f"{tokenizer.vocabulary.n_classes}."
            )
        self.log_ = values["log"]
        self._seeds, self._first_epoch = Seeds(*values["seeds"]), int(values["first_epoch"])
        self._trained_on, self._n_fitted = values["trained_on"], int(values["n_fitted"])
        self.batch_size_, self.max_epochs_ = (
            int(values["batch_size"]),
            int(values["planned_epochs"]),
        )
        self.learning_rate_ = float(values["learning_rate"])
        self._hold(net_from_state(values, arrays, values["history"]), tokenizer, [])


def _unit(vectors: NDArray[Any]) -> NDArray[np.float64]:
    vectors = vectors.astype(np.float64)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1.0)
