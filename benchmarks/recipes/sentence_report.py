"""The recipe ``sentence-report``: the sentence model of Chevalier's report, tested on reviews."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import Any

from benchmarks.recipes.texts import find_labeled_texts, find_text
from benchmarks.runner.recipe import Recipe, Result, Run
from benchmarks.runner.settings import STDLIB, setting

_DESCRIPTION = """\
The Transformer of Chevalier (2019), SGNN-Transformer sentence model trained by the
paragraph-skip-gram-like SimilarityBXENT, SGNNSentenceEncoder.report(): trained on the paragraphs of
a text file, then a logistic regression with the report's C of 1,000 on reviews, each the mean of
the vectors of its sentences. The report trained it for two days on a GPU, on Wikipedia, and gives
about 70 % accuracy on its own reviews. It needs --set paragraphs=FILE, a text with a paragraph per
line, and a data set; set device=cuda: on a CPU it takes days."""


@dataclass(frozen=True)
class SentenceReportSettings:
    """Settings of the experiment; the metadata of each field describe it."""

    paragraphs: str = setting(
        "",
        "text file, a paragraph per line; empty: wikipedia/paragraphs.txt of HASHNLP_DATA",
        recorded=False,
    )
    data: str = setting("", "folder of the data sets; empty: HASHNLP_DATA", recorded=False)
    dataset: str = setting("imdb", "data set of reviews")
    n_paragraphs: int = setting(0, "training paragraphs; 0: all")
    n_reviews: int = setting(0, "training and test reviews; 0: all")
    n_layers: int = setting(6, "Transformer layers")
    epochs: int = setting(1, "epochs")
    device: str = setting("auto", "device", recorded=False)


_QUICK = SentenceReportSettings(
    paragraphs=STDLIB, dataset=STDLIB, n_paragraphs=50, n_reviews=50, n_layers=1
)


def _run(settings: SentenceReportSettings, run: Run) -> Iterator[Result]:
    from sklearn.linear_model import LogisticRegression

    from sklearn_hashnlp.datasets import stream_paragraphs
    from sklearn_hashnlp.sentences import SGNNSentenceEncoder

    started, some = perf_counter(), settings.n_reviews or None
    encoder = SGNNSentenceEncoder.report().set_params(
        network__n_layers=settings.n_layers,
        max_epochs=settings.epochs,
        device=settings.device,
        random_state=run.seed,
        checkpoint_dir=run.folder / "encoder",
        resume=True,
    )
    needed = "sentence-report needs a text file, a paragraph per line"
    path = find_text(
        settings.paragraphs, "wikipedia/paragraphs.txt", needed, run.folder, option="paragraphs"
    )
    encoder.fit(islice(stream_paragraphs(path), settings.n_paragraphs or None))
    seconds, reviews = perf_counter() - started, find_labeled_texts(settings.dataset, settings.data)
    train, test = (
        _means(encoder, texts[:some]) for texts in (reviews.train_texts, reviews.test_texts)
    )
    classifier = LogisticRegression(C=1e3, max_iter=1000).fit(train, reviews.train_labels[:some])
    accuracy = float(classifier.score(test, reviews.test_labels[:some]))
    yield {"accuracy": accuracy, "n_parameters": encoder.n_parameters_, "fit_seconds": seconds}


def _means(encoder: Any, texts: list[str]) -> Any:
    """Return the means of the vectors of the sentences of texts."""
    import numpy as np

    from sklearn_hashnlp.text import split_sentences

    return np.stack(
        [encoder.transform(split_sentences(text) or [""]).mean(axis=0) for text in texts]
    )


SENTENCE_REPORT = Recipe(
    name="sentence-report",
    summary="the sentence model of Chevalier's report, on reviews",
    description=_DESCRIPTION,
    settings=SentenceReportSettings(),
    quick=_QUICK,
    run=_run,
)
