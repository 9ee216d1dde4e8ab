"""The recipe ``ptb-table``: counts, a network, a cache and their mixtures on the Penn Treebank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.recipes.mixture_rows import (
    NetworkSettings,
    Texts,
    mixture_table,
    score_row,
    train_network,
)
from benchmarks.recipes.texts import read_sentences, treebank_folder
from benchmarks.runner.recipe import Recipe, Result, Run
from benchmarks.runner.settings import STDLIB, setting
from benchmarks.runner.table import Table, tables_by_settings

if TYPE_CHECKING:
    from sklearn_hashnlp.language._base_language_model import BaseLanguageModel


_DESCRIPTION = """\
Test perplexities on the Penn Treebank of single language models and of their mixtures, compared
with published ones: a Kneser-Ney 5-gram model, a feed-forward network with a hierarchical softmax,
hashed direct connections and a bag of the 64 words before the window, each of them with a cache of
the recent words, and all three.

The tree of the network is learned: words that a small network predicts in similar contexts share a
cluster. The weights of the mixtures are learned on valid.txt by expectation maximization, and the
epoch of the network and all other settings are chosen there. test.txt is scored once per row.

Every word of a sentence and </s> count; <unk> is a word of the text. The published figures are from
Mikolov, Deoras, Kombrink, Burget and Cernocky (2011, Empirical evaluation and combination of
advanced language modeling techniques) on the same text: 141.2 for Kneser-Ney, 125.7 with a cache,
140.2 for a feed-forward network, 116.7 for it with Kneser-Ney, and 106.6 with a cache as well.
Their feed-forward network reads one sentence at a time.

It needs train.txt, valid.txt and test.txt as Tomas Mikolov prepared them in one folder: pass it by
--set data=FOLDER, or name it ptb/ in the folder that the environment variable HASHNLP_DATA names. A
quarter to half an hour of processor time, nearly all of it for the network."""

_KNESER_NEY = "Kneser-Ney"
_NETWORK = "network"
_CACHE = "cache"
_ROWS: tuple[tuple[str, ...], ...] = (
    (_KNESER_NEY,),
    (_NETWORK,),
    (_KNESER_NEY, _CACHE),
    (_NETWORK, _CACHE),
    (_NETWORK, _KNESER_NEY),
    (_NETWORK, _KNESER_NEY, _CACHE),
)
_PUBLISHED = {
    ((_KNESER_NEY,), False): "141.2",
    ((_NETWORK,), False): "140.2",
    ((_KNESER_NEY, _CACHE), False): "125.7",
    ((_NETWORK, _KNESER_NEY), False): "116.7",
    ((_NETWORK, _KNESER_NEY, _CACHE), False): "106.6",
}
_OTHERS = (
    "Others, published: log-bilinear model 144.5, with Kneser-Ney and cache 105.8; recurrent "
    "network 124.7, with both 97.5; n-gram model within and across sentences 116.6, with both "
    "108.7; LSTM 114.5; AWD-LSTM 57.3"
)


@dataclass(frozen=True)
class PtbTableSettings(NetworkSettings):
    """Settings of the experiment; the metadata of each field describe it."""

    data: str = setting(
        "",
        "folder with train.txt, valid.txt and test.txt; empty: ptb in the folder that "
        "HASHNLP_DATA names",
        recorded=False,
    )
    cache_size: int = setting(1000, "words that the cache remembers")
    frequency_bins: bool = setting(
        False, "whether weights depend on the frequency of the last two words"
    )
    n_train: int = setting(0, "training sentences; 0: all")
    n_valid: int = setting(0, "validation sentences; 0: all")
    n_test: int = setting(0, "test sentences; 0: all")


_QUICK = PtbTableSettings(
    data=STDLIB,
    embedding_dim=8,
    hidden_size=16,
    n_direct=2**12,
    epochs=2,
    tree_epochs=1,
    n_train=500,
    n_valid=50,
    n_test=50,
)


def _run(settings: PtbTableSettings, run: Run) -> Iterator[Result]:
    # The network resumes from its checkpoints; the rows before are computed again, in seconds.
    return islice(_run_whole(settings, run), len(run.previous), None)


def _run_whole(settings: PtbTableSettings, run: Run) -> Iterator[Result]:
    from sklearn_hashnlp.language import (
        CacheLanguageModel,
        InterpolatedLanguageModel,
        KneserNeyLanguageModel,
    )

    folder = treebank_folder(settings.data, PTB_TABLE.name, run.folder)
    text = Texts(
        read_sentences(folder / "train.txt", settings.n_train),
        read_sentences(folder / "valid.txt", settings.n_valid),
        read_sentences(folder / "test.txt", settings.n_test),
    )
    models: dict[str, BaseLanguageModel] = {}
    for names in _ROWS:
        started = perf_counter()
        if names == (_KNESER_NEY,):
            models[_KNESER_NEY] = KneserNeyLanguageModel(order=settings.order).fit(text.train)
            vocabulary = models[_KNESER_NEY].vocabulary_
            models[_CACHE] = CacheLanguageModel(
                cache_size=settings.cache_size, vocabulary=vocabulary
            ).fit(text.train)
        elif names == (_NETWORK,):
            models[_NETWORK] = train_network(settings, run, text, vocabulary)
        members = [models[name] for name in names]
        model = InterpolatedLanguageModel(
            members, frequency_bins=settings.frequency_bins, prefit=True
        )
        model.fit(text.train if settings.frequency_bins else None, X_valid=text.valid)
        yield score_row(names, model, text, perf_counter() - started, run)


def _n_results(_settings: PtbTableSettings) -> int:
    return len(_ROWS)


def _report(results: Sequence[Result]) -> list[Table]:
    return tables_by_settings(results, _tables)


def _tables(results: Sequence[Result]) -> list[Table]:
    last = results[-1]
    notes = [
        f"{last['n_words']:,} test words and ends of sentences, {last['n_vocabulary']:,} words in "
        "the vocabulary; the weights are learned on valid.txt",
        _OTHERS,
    ]
    title, options = (
        "Language models on the Penn Treebank",
        {"default": PTB_TABLE.settings, "notes": notes},
    )
    return [
        mixture_table(
            title, results, _PUBLISHED, **options, text_settings=("n_train", "n_valid", "n_test")
        )
    ]


PTB_TABLE = Recipe(
    name="ptb-table",
    summary=(
        "Kneser-Ney, a network with hashed connections, a cache, and their mixtures on the Penn "
        "Treebank"
    ),
    description=_DESCRIPTION,
    settings=PtbTableSettings(),
    quick=_QUICK,
    run=_run,
    n_results=_n_results,
    report=_report,
)
