"""What a trained language model does: score, predict and sample, and go out as values and arrays and come back."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from sklearn_hashnlp.language._net import SCORE_ROWS, LanguageNet, net_from_state, net_to_state
from sklearn_hashnlp.language._reader import CorpusReader
from sklearn_hashnlp.language._sentences import tokens_of
from sklearn_hashnlp.language._training import pack_language_optimizer, unpack_language_optimizer
from sklearn_hashnlp.language._trees import context_means, two_level_clusters
from sklearn_hashnlp.language._vocabulary import Vocabulary
from sklearn_hashnlp.language._windows import WordWindows
from sklearn_hashnlp.language._word_codes import open_words_of
from sklearn_hashnlp.language._word_vectors import WordNeighbours
from sklearn_hashnlp.training._settings import Seeds
from sklearn_hashnlp.training._torch_scope import plain_torch
from sklearn_hashnlp.trees import SoftmaxTree

Result = TypeVar("Result")


class TrainedLanguageModel(WordNeighbours, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The half of :class:`HsigmoidLanguageModel` that needs a trained net."""

    net_: LanguageNet
    history_: list[dict[str, Any]]
    vocabulary_: dict[str, int]
    log_: list[dict[str, float]]
    n_parameters_: int
    _reader: CorpusReader
    _seeds: Seeds
    _first_epoch: int
    _trained_on: int | None  # what the windows of a training with checkpoints amount to

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Tell how probable each sentence is: which of two sounds more natural.

        Parameters
        ----------
        X : iterable of (str or list of str), path-like or callable
            Sentences, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_sentences,), dtype float64
            The natural logarithm of each sentence's probability: the sum over its words, ``</s>`` and words that are
            not known, as ``<unk>``, included. With ``padding="reference"`` the first words are left out, and a sentence
            that is too short has NaN. With ``output="hsigmoid"`` on a CPU a sentence has the same score, to the last
            bit, whatever sentences are scored beside it.

        Raises
        ------
        TypeError, ValueError
            If ``X`` is not as in ``fit``.
        """
        windows = self._windows(X)
        sums = np.concatenate(([0.0], np.cumsum(self._score(windows))))
        lengths = np.diff(windows.offsets)
        return np.where(lengths > 0, np.diff(sums[windows.offsets]), np.nan)

    def score(self, X: Any, y: Any = None) -> float:
        """Tell the mean log-likelihood of a word; higher is better.

        Parameters
        ----------
        X : iterable of (str or list of str), path-like or callable
            Sentences, as in ``fit``.
        y : None
            Ignored.

        Returns
        -------
        float
            The mean of the natural logarithms of the probabilities of all words, ``</s>`` and words that are not known,
            as ``<unk>``, included; not of ``<s>``.

        Raises
        ------
        TypeError, ValueError
            If ``X`` is not as in ``fit``, or holds no word.
        """
        windows = self._windows(X)
        if len(windows) == 0:
            raise ValueError(f"{type(self).__name__} found no word to score: X is empty or its sentences too short.")
        return float(self._score(windows).mean())

    def perplexity(self, X: Any) -> float:
        """Tell the perplexity of sentences: ``exp(-score(X))``; lower is better.

        ``</s>`` and words that are not known, as ``<unk>``, count like any word, so only models with the same words are
        to be compared.

        Parameters
        ----------
        X : iterable of (str or list of str), path-like or callable
            Sentences, as in ``fit``.

        Returns
        -------
        float
            The perplexity.

        Raises
        ------
        TypeError, ValueError
            If ``X`` is not as in ``fit``, or holds no word.
        """
        return math.exp(min(-self.score(X), 700.0))

    def predict(self, contexts: Any, search: str = "exact") -> NDArray[np.str_]:
        """Tell the most probable next word.

        Parameters
        ----------
        contexts : iterable of (str or list of str)
            Beginnings of sentences, of which the last ``order - 1`` words count; shorter ones are filled up by ``<s>``
            on the left.
        search : {"exact", "greedy"}, default="exact"
            ``"greedy"`` follows the more probable branch at each node of the tree, which is faster and not always the
            most probable word; only with ``output="hsigmoid"``.

        Returns
        -------
        ndarray of str of shape (n_contexts,)
            The words; ``</s>`` is the end of the sentence.

        Raises
        ------
        TypeError, ValueError
            If the contexts are no sentences, or there is no such search.
        """
        check_is_fitted(self)
        tree_less = self.net_.module_.output != "hsigmoid"
        if search not in ("exact", "greedy") or (search == "greedy" and tree_less):
            why = "'exact', since the model has no tree," if tree_less else "'exact' or 'greedy',"
            raise ValueError(f"{type(self).__name__}.predict needs search to be {why} got {search!r}.")
        found = self._over_contexts(contexts, lambda part: self.net_.module_.predict(part, search).tolist())
        words = self._reader.vocabulary.words
        return np.array([words[number] for part in found for number in part], dtype=str)

    def predict_proba(self, contexts: Any) -> NDArray[np.float64]:
        """Tell the probabilities of all next words.

        Parameters
        ----------
        contexts : iterable of (str or list of str)
            As in ``predict``.

        Returns
        -------
        ndarray of float64 of shape (n_contexts, n_words - 1)
            Columns in the order of ``vocabulary_``, but for ``<s>``, its last, which is never predicted.

        Raises
        ------
        TypeError, ValueError
            If the contexts are no sentences.
        """
        found = self._over_contexts(
            contexts, lambda part: self.net_.module_.log_prob(part).double().exp().cpu().numpy()
        )
        return np.concatenate([np.empty((0, self._reader.vocabulary.n_classes)), *found])

    def predict_topk(self, contexts: Any, k: int = 5) -> list[list[tuple[str, float]]]:
        """Tell the most probable next words and their probabilities.

        Parameters
        ----------
        contexts : iterable of (str or list of str)
            As in ``predict``.
        k : int, default=5
            How many words; all where there are fewer.

        Returns
        -------
        list of list of (str, float)
            For each context the words and their probabilities, the most probable first.

        Raises
        ------
        TypeError, ValueError
            If the contexts are no sentences, or ``k`` is no integer of at least 1.
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"{type(self).__name__}.predict_topk needs an integer k of at least 1, got {k!r}.")
        check_is_fitted(self)
        words, k = self._reader.vocabulary.words, min(int(k), self._reader.vocabulary.n_classes)
        return [
            [(words[number], math.exp(value)) for value, number in zip(*row, strict=True)]
            for log_probs, numbers in self._over_contexts(contexts, lambda part: self.net_.module_.topk(part, k))
            for row in zip(log_probs.tolist(), numbers.tolist(), strict=True)
        ]

    def sample(
        self,
        n: int = 1,
        random_state: int | np.random.RandomState | None = None,
        start: str | list[str] = "",
        max_length: int = 100,
    ) -> list[list[str]]:
        """Draw sentences.

        Parameters
        ----------
        n : int, default=1
            How many.
        random_state : int, RandomState instance or None, default=None
            Of the draw.
        start : str or list of str, default=""
            How each of them begins.
        max_length : int, default=100
            After how many words a sentence is cut off that has not come to its end.

        Returns
        -------
        list of list of str
            The words of each sentence, those of ``start`` first, without marks.

        Raises
        ------
        ValueError
            If ``n`` or ``max_length`` is negative.
        TypeError
            If ``start`` is no sentence.
        """
        check_is_fitted(self)
        name = type(self).__name__
        if n < 0 or max_length < 0:
            raise ValueError(f"{name}.sample needs n and max_length of at least 0, got {n!r} and {max_length!r}.")
        vocabulary, device = self._reader.vocabulary, torch.device(self.net_.device)
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        generator = torch.Generator(device).manual_seed(seed)
        sentences = [tokens_of(start, place=0, caller=name) for _ in range(n)]
        going = sentences
        with plain_torch(device.type), torch.inference_mode():
            while going := [sentence for sentence in going if len(sentence) < max_length]:
                contexts = torch.from_numpy(self._reader.number(going)).to(device)
                drawn = self.net_.module_.sample(contexts, generator=generator).tolist()
                going = [sentence for sentence, number in zip(going, drawn, strict=True) if number != vocabulary.end]
                for sentence, number in zip(going, (each for each in drawn if each != vocabulary.end), strict=True):
                    sentence.append(vocabulary.words[number])
        return sentences

    def learned_tree(self, X: Any) -> SoftmaxTree:
        """Build a tree for another training, by what this one has learned.

        Words that the network predicts in like contexts come to stand together [1]_: about sqrt(V) clusters beside as
        many of the most frequent words, as with ``tree="cluster"``, which knows only the words before. One or two
        epochs of a small network teach enough. The other model has to know the same words::

            HsigmoidLanguageModel(tree=first.learned_tree(X), vocabulary=first.vocabulary_).fit(X)

        Parameters
        ----------
        X : iterable of (str or list of str), path-like or callable
            Sentences, as in ``fit``; those that were learned from.

        Returns
        -------
        SoftmaxTree
            Over all words of ``vocabulary_`` but ``<s>``.

        Raises
        ------
        TypeError, ValueError
            If ``X`` is not as in ``fit``, or holds no word.

        References
        ----------
        .. [1] Mnih & Hinton (2008). A scalable hierarchical distributed language model. NIPS, section 4.
        """
        windows = self._windows(X)
        if len(windows) == 0:
            raise ValueError(f"{type(self).__name__} found no word to read: X is empty or its sentences too short.")
        n_classes = self._reader.vocabulary.n_classes
        with plain_torch(torch.device(self.net_.device).type):
            vectors = context_means(self.net_, windows, n_classes)
        return two_level_clusters(np.bincount(windows.y, minlength=n_classes), vectors, seed=0)

    def _windows(self, X: Any) -> WordWindows:
        check_is_fitted(self)
        return self._reader.read(X)

    def _score(self, windows: WordWindows) -> NDArray[np.float64]:
        with plain_torch(torch.device(self.net_.device).type):
            return self.net_.score_windows(windows)

    def _over_contexts(self, contexts: Any, compute: Callable[[Tensor], Result]) -> list[Result]:
        """Compute something for contexts, block after block."""
        check_is_fitted(self)
        numbers = torch.from_numpy(self._reader.contexts(contexts))
        device = torch.device(self.net_.device)
        with plain_torch(device.type), torch.inference_mode():
            return [compute(part.to(device)) for part in torch.split(numbers, SCORE_ROWS) if len(part)]

    def _hold(self, net: LanguageNet, reader: CorpusReader, history: list[dict[str, Any]]) -> None:
        net.module_.eval()
        self.net_, self._reader = net, reader
        self.vocabulary_ = reader.vocabulary.number_of
        history += map(_plain_entry, islice(net.history, len(history), None))
        self.history_ = history  # added to and not copied: a stream has many calls
        self.n_parameters_ = sum(parameter.numel() for parameter in net.module_.parameters())

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return everything learned, as JSON values and as arrays."""
        check_is_fitted(self)
        values, arrays = net_to_state(self.net_)
        reader = self._reader
        if reader.translation is not None:
            arrays["translation"] = reader.translation
        return values | {
            "words": reader.vocabulary.words[:-1],
            "padding": reader.padding,
            "history": self.history_,
            "log": self.log_,
            "seeds": list(self._seeds),
            "first_epoch": self._first_epoch,
            "trained_on": self._trained_on,
        }, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what :meth:`_get_model_state` gave, whatever the parameters are by now."""
        made_of = values["architecture"]
        vocabulary = Vocabulary(values["words"])
        if made_of["num_classes"] != vocabulary.n_classes:
            raise ValueError(
                f"The net tells {made_of['num_classes']} words apart, and there are {vocabulary.n_classes} words."
            )
        reader = CorpusReader(
            vocabulary,
            arrays.get("translation"),
            order=made_of["order"],
            padding=values["padding"],
            open_words=open_words_of(made_of),
            caller=type(self).__name__,
        )
        self.log_ = values["log"]
        self._seeds, self._first_epoch = Seeds(*values["seeds"]), int(values["first_epoch"])
        self._trained_on = values.get("trained_on")
        self._hold(net_from_state(values, arrays, values["history"]), reader, [])

    def _get_training_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        """Return what only further training needs; None if nothing was trained since the model was loaded."""
        if not self.net_.optimizer_.state:
            return None
        return pack_language_optimizer(self.net_.module_, self.net_.optimizer_)

    def _set_training_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what :meth:`_get_training_state` gave, after the model state."""
        self.net_.optimizer_ = unpack_language_optimizer(self.net_.module_, values, arrays)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "net_" in state:
            del state["net_"]
            state["_model_state"], state["_training_state"] = self._get_model_state(), self._get_training_state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        model_state, training_state = state.pop("_model_state", None), state.pop("_training_state", None)
        super().__setstate__(state)
        if model_state is not None:
            self._set_model_state(*model_state)
        if training_state is not None:
            self._set_training_state(*training_state)


def _plain_entry(entry: dict[str, Any]) -> dict[str, Any]:
    measures = ("train_loss", "valid_loss", "train_perplexity", "valid_perplexity", "dur")
    return {"epoch": int(entry["epoch"])} | {name: float(entry[name]) for name in measures if name in entry}
