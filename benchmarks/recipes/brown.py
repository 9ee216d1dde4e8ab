"""The recipe ``brown``: language models on the Brown corpus, split as by Bengio et al. (2003)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from benchmarks.recipes.mixture_rows import (
    NetworkSettings,
    Texts,
    mixture_table,
    score_row,
    train_network,
)
from benchmarks.recipes.texts import find_text
from benchmarks.runner.recipe import Recipe, Result, Run
from benchmarks.runner.settings import STDLIB, setting
from benchmarks.runner.table import Table, tables_by_settings

if TYPE_CHECKING:
    from sklearn_hashnlp.language import InterpolatedLanguageModel
    from sklearn_hashnlp.language._base_language_model import BaseLanguageModel


_DESCRIPTION = """\
Test perplexities on the Brown corpus of a Kneser-Ney model, a feed-forward network and both mixed,
compared with Bengio, Ducharme, Vincent and Jauvin (2003, A neural probabilistic language model):
321 for Kneser-Ney, 312 for the best class-based model, 268 for the best network and 252 for it
mixed with a trigram model.

As there, the first 800,000 tokens are for training, the next 200,000 for validation, and the rest
for the test; a sentence belongs to the part that its first token is in. Words that occur 3 times or
less are merged into <unk>. By default they are counted in the whole corpus, as probably in the
paper; with --set vocabulary=train, in the training text alone. That makes more words of the test
text <unk>, and the perplexity much lower: only models with the same vocabulary can be compared.

Upper and lower case differ and punctuation marks are words, as in the paper. Its text has other
tokens, and also marks for paragraphs. Here every word of a sentence and </s> count, <unk> like any
word. After a full stop </s> is nearly certain, which lowers the perplexity. Therefore a second test
perplexity, the one to compare with the published ones, divides the same log-probability, </s>
included, by the number of tokens alone.

The network has hashed direct connections and, in addition to its window, a bag of the words before
it, also of earlier sentences; its tree is learned by a small network before. The weights of the
mixture are learned on the validation text by expectation maximization, one set of weights or one
for each bin of context frequencies, as in the paper. The epoch of the network is chosen there, too;
its other settings are those of ptb-table, chosen on the Penn Treebank. The network reads earlier
sentences, which the Kneser-Ney model does not; its mixture with a cache of the recent words does.

It needs the corpus as a text file with one sentence per line, words separated by spaces; blank
lines are skipped. Pass it by --set data=FILE, or name it brown/paragraphs.txt in the folder that
the environment variable HASHNLP_DATA names. A quarter of an hour of processor time."""

_KNESER_NEY = "Kneser-Ney"
_CACHE = "cache"
_NETWORK = "network"
# models, and whether their weights depend on context frequencies
_ROWS: tuple[tuple[tuple[str, ...], bool], ...] = (
    ((_KNESER_NEY,), False),
    ((_KNESER_NEY, _CACHE), False),
    ((_NETWORK,), False),
    ((_NETWORK, _KNESER_NEY), False),
    ((_NETWORK, _KNESER_NEY), True),
)
_PUBLISHED = dict(zip(_ROWS, ("321", "", "268", "", "252 (with a trigram model)"), strict=True))


@dataclass(frozen=True)
class BrownSettings(NetworkSettings):
    """Settings of the experiment; the metadata of each field describe it."""

    data: str = setting(
        "",
        "file with one sentence per line; empty: brown/paragraphs.txt in the folder that "
        "HASHNLP_DATA names",
        recorded=False,
    )
    n_train: int = setting(800_000, "tokens of the training text")
    n_valid: int = setting(200_000, "tokens of the validation text")
    n_test: int = setting(0, "tokens of the test text; 0: the rest")
    min_count: int = setting(4, "words that occur less often are <unk>")
    vocabulary: Literal["corpus", "train"] = setting(
        "corpus",
        "text in which words are counted: the whole corpus, as probably in the paper, or train",
    )


_QUICK = BrownSettings(
    data=STDLIB,
    n_train=5000,
    n_valid=1000,
    n_test=1000,
    embedding_dim=8,
    hidden_size=16,
    n_direct=2**12,
    far_context=8,
    epochs=2,
    tree_epochs=1,
)


def _run(settings: BrownSettings, run: Run) -> Iterator[Result]:
    # The network resumes from its checkpoints; the rows before are computed again, in seconds.
    return islice(_run_whole(settings, run), len(run.previous), None)


def _run_whole(settings: BrownSettings, run: Run) -> Iterator[Result]:
    from sklearn_hashnlp.language import CacheLanguageModel, KneserNeyLanguageModel

    needed = "brown needs the Brown corpus as a text file"
    path = find_text(settings.data, "brown/paragraphs.txt", needed, run.folder)
    texts = _read_texts(path, settings.n_train, settings.n_valid, settings.n_test)
    n_tokens = sum(len(sentence.split()) for sentence in texts.test)
    started = perf_counter()
    counted = (
        texts.train if settings.vocabulary == "train" else [*texts.train, *texts.valid, *texts.test]
    )
    vocabulary = (
        KneserNeyLanguageModel(order=1, min_count=settings.min_count).fit(counted).vocabulary_
    )
    counts = KneserNeyLanguageModel(order=settings.order, vocabulary=vocabulary).fit(texts.train)
    shares = {
        f"{name}_unknown_share": _unknown_share(sentences, vocabulary)
        for name, sentences in texts._asdict().items()
    }
    run.log(
        f"|V| = {len(vocabulary) - 1:,}; <unk>: {shares['test_unknown_share']:.1%} of the test "
        "words"
    )
    models: dict[str, BaseLanguageModel] = {
        _KNESER_NEY: counts,
        _CACHE: CacheLanguageModel(vocabulary=vocabulary).fit(texts.train),
    }
    for names, by_bins in _ROWS:
        if names == (_NETWORK,):
            models[_NETWORK] = train_network(settings, run, texts, vocabulary)
        model = _mixture([models[name] for name in names], texts, by_bins=by_bins)
        seconds = perf_counter() - started
        row = score_row(names, model, texts, seconds, run)
        per_token = row["test_perplexity"] ** (row["n_words"] / n_tokens)
        yield row | {"test_perplexity_per_token": per_token, "frequency_bins": by_bins} | shares
        started = perf_counter()


def _mixture(
    members: list[BaseLanguageModel], texts: Texts, *, by_bins: bool
) -> InterpolatedLanguageModel:
    from sklearn_hashnlp.language import InterpolatedLanguageModel

    model = InterpolatedLanguageModel(members, frequency_bins=by_bins, prefit=True)
    return model.fit(texts.train if by_bins else None, X_valid=texts.valid)


def _n_results(_settings: BrownSettings) -> int:
    return len(_ROWS)


def _read_texts(path: Path, n_train: int, n_valid: int, n_test: int) -> Texts:
    """Split the sentences of a file where their first tokens are."""
    from sklearn_hashnlp._text_files import read_lines

    texts, n_tokens = Texts([], [], []), 0
    for line in read_lines(path):
        words = line.split()
        if n_test and n_tokens >= n_train + n_valid + n_test:
            break
        if words:
            texts[(n_tokens >= n_train) + (n_tokens >= n_train + n_valid)].append(" ".join(words))
            n_tokens += len(words)
    if not all(texts):
        raise ValueError(
            f"{path} has {n_tokens:,} tokens, and brown needs more than n_train + n_valid = "
            f"{n_train + n_valid:,} of them. Give the whole corpus, or set n_train and n_valid."
        )
    return texts


def _unknown_share(sentences: list[str], vocabulary: dict[str, int]) -> float:
    """Return the share of <unk> in the predicted words and </s>."""
    words = [word for sentence in sentences for word in sentence.split()]
    return sum(word not in vocabulary for word in words) / (len(words) + len(sentences))


def _report(results: Sequence[Result]) -> list[Table]:
    return tables_by_settings(results, _tables)


def _tables(results: Sequence[Result]) -> list[Table]:
    last = results[-1]
    notes = [
        f"{last['n_words']:,} test words with </s>, {last['n_vocabulary']:,} words in the "
        f"vocabulary; <unk> is {last['train_unknown_share']:.2%} of the training words, "
        f"{last['valid_unknown_share']:.2%} of the validation words and "
        f"{last['test_unknown_share']:.2%} of the test words",
        "Published: Bengio et al. (2003), with another tokenization; compare the figures per token",
    ]
    title, options = (
        "Language models on the Brown corpus",
        {"default": BROWN.settings, "notes": notes},
    )
    names = ("n_train", "n_valid", "n_test", "min_count", "vocabulary")
    return [mixture_table(title, results, _PUBLISHED, **options, text_settings=names)]


BROWN = Recipe(
    name="brown",
    summary=(
        "Kneser-Ney, a network with hashed connections and a far context, and mixtures on the "
        "Brown corpus"
    ),
    description=_DESCRIPTION,
    settings=BrownSettings(),
    quick=_QUICK,
    run=_run,
    n_results=_n_results,
    report=_report,
)
