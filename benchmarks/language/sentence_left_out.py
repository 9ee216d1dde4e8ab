"""Changes of the sentence encoder's defaults, judged on the task that did not choose them.

Three tasks: similarity, the development set of the STS benchmark; search in ag_news, imdb and swda;
and classification of trec and sst2 by five-fold cross-validation on training rows, sampled from
large sets. For similarity and classification the encoder is fitted on Wikipedia, for search on the
texts that are searched. No test rows are read.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

from benchmarks.common.data import DataFolder
from benchmarks.common.pages import table
from benchmarks.language import sentence_search, sentence_tasks
from benchmarks.language.sentence_models import make_encoder
from sklearn_hashnlp.nn import _sentence_network
from sklearn_hashnlp.sentences import SGNNSentenceEncoder, _sentence_reader, _word_pretraining

TASKS = {
    "similarity": ("stsb",),
    "search": ("ag_news", "imdb", "swda"),
    "classification": ("trec", "sst2"),
}
FITTED_ON = {"wikipedia": (*TASKS["similarity"], *TASKS["classification"])} | {
    one: (one,) for one in TASKS["search"]
}
MAX_ROWS = 3_000  # of a set to classify
C = 10.0


class Change(NamedTuple):
    """Parameters and private constants that replace the defaults."""

    settings: Mapping[str, Any] = MappingProxyType({})
    module: ModuleType | None = None
    constants: Mapping[str, Any] = MappingProxyType({})

    @property
    def refits(self) -> bool:
        """Return whether to train the variant; else it follows a default one in ``CHANGES``."""
        return self.module is not _sentence_network


DEFAULTS = "defaults"
CHANGES: dict[str, Change] = {
    DEFAULTS: Change(),
    "equal parts at 30 words": Change({}, _sentence_network, {"_EQUAL_PARTS_WORDS": 30}),
    "equal parts at 80 words": Change({}, _sentence_network, {"_EQUAL_PARTS_WORDS": 80}),
    "half of the component removed at 20 words": Change(
        {}, _sentence_network, {"_HALF_REMOVED_WORDS": 20}
    ),
    **{
        f"idf to the power {power:g}": Change({}, _sentence_reader, {"_IDF_POWER": power})
        for power in (0.75, 1.0, 1.25, 2.0)
    },
    "components divided by the third root": Change({}, _word_pretraining, {"_WHITENING": 1 / 3}),
    "10 steps of word pretraining": Change({"word_steps": 10}),
    "no training on paragraphs": Change({"max_epochs": 0}),
}


def measure(
    name: str, data: DataFolder, paragraphs: list[str], seed: int, changes: list[str]
) -> Iterator[tuple[str, dict[str, float]]]:
    """Fit encoders on one text; yield each of these changes and its figures, all in percent."""
    texts = paragraphs if name == "wikipedia" else sentence_search.labelled(name, data, seed)[0]
    encoder = None
    for change in changes:
        settings, module, constants = CHANGES[change]
        with ExitStack() as stack:
            if module is not None:
                stack.enter_context(patch.multiple(module, **constants))
            stack.enter_context(warnings.catch_warnings())
            # The encoder warns of texts of one sentence, and of long ones.
            warnings.simplefilter("ignore", UserWarning)
            if encoder is None or CHANGES[change].refits:
                encoder = make_encoder({**settings, "random_state": seed}).fit(texts)
            yield change, {task: figure(encoder, task, data, seed) for task in FITTED_ON[name]}


def figure(encoder: SGNNSentenceEncoder, task: str, data: DataFolder, seed: int) -> float:
    """Return the rank correlation, the precision at 5, or the cross-validated accuracy."""
    if task in TASKS["similarity"]:
        return sentence_tasks.correlation(encoder, sentence_tasks.read_pairs(data))
    if task in TASKS["search"]:
        texts, queries, labels = sentence_search.labelled(task, data, seed)
        return sentence_search.share_of_label(
            encoder.transform(queries) @ encoder.transform(texts).T, labels
        )
    rows = data.train(task).sample(MAX_ROWS)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_score(
        LogisticRegression(C=C, max_iter=sentence_tasks.ITERATIONS),
        encoder.transform(rows.texts),
        rows.labels,
        cv=folds,
    )
    return 100 * float(scores.mean())


def gains(result: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return each change's gain over the defaults by task: the mean over its sets and seeds."""
    models = result["models"]

    def gain(change: str, one: str) -> float:
        pairs = [(run[one], models[DEFAULTS][seed][one]) for seed, run in models[change].items()]
        return float(np.mean([after - before for after, before in pairs]))

    return {
        change: {
            task: float(np.mean([gain(change, one) for one in sets]))
            for task, sets in TASKS.items()
        }
        for change in models
    }


def left_out(measured: dict[str, dict[str, float]]) -> dict[str, tuple[str, float, float]]:
    """Return per task the change with the best mean gain on the others, that gain and its own."""
    result = {}
    for task in TASKS:
        means = {
            change: float(np.mean([by_task[other] for other in TASKS if other != task]))
            for change, by_task in measured.items()
        }
        best = max(means, key=lambda change: (means[change], change == DEFAULTS))
        result[task] = best, means[best], measured[best][task]
    return result


def tables(result: dict[str, Any]) -> str:
    """Return two tables: what the other tasks choose for each task, and the gain of each change."""
    measured, sets = gains(result), [one for names in TASKS.values() for one in names]
    chosen = table(
        ("task", "chosen by the other two", "gain on these", "gain on the task"),
        (
            (task, change, f"{by:+.2f}", f"{gain:+.2f}")
            for task, (change, by, gain) in left_out(measured).items()
        ),
    )
    rows = []
    for change in [change for change in CHANGES if change in result["models"]]:
        runs = result["models"][change]
        figures = [float(np.mean([run[one] for run in runs.values()])) for one in sets]
        rows.append(
            (
                change,
                *(f"{value:.1f}" for value in figures),
                *(f"{measured[change][t]:+.2f}" for t in TASKS),
            )
        )
    return chosen + "\n\n" + table(("", *sets, *(f"{task}, gain" for task in TASKS)), rows)
