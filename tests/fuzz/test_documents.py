"""Documents of any content at every entry point: a result, or a ValueError with the reason."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from scipy.sparse import issparse
from typer.testing import CliRunner

from sklearn_hashnlp import TextClassifier, save_model
from sklearn_hashnlp.classifiers import export_predictor
from sklearn_hashnlp.classifiers.export._standalone_linear import _read_predictor
from sklearn_hashnlp.cli import app
from sklearn_hashnlp.datasets import load_labelled
from sklearn_hashnlp.language import KneserNeyLanguageModel
from sklearn_hashnlp.text import (
    AutoNgramVectorizer,
    CharNgramFeaturizer,
    FrequentNgramVectorizer,
    HashingNgramVectorizer,
    SGNNProjector,
    SGNNWordProjector,
    distort_texts,
    split_sentences,
)
from tests.fuzz.models import LABELS, SENTENCES, SMALL, TEXTS
from tests.sentence_texts import fitted as fitted_encoder
from tests.strategies import DOCUMENTS

Entry = Callable[[list[str]], Any]


@cache
def _classifier() -> Any:
    return TextClassifier(**SMALL).fit(TEXTS, LABELS)


@cache
def _exported() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        export_predictor(_classifier(), Path(folder) / "exported")
        predictor = _read_predictor(Path(folder) / "exported" / "weights.bin")
        predictor.predict(TEXTS)
        predictor._arrays = {name: np.array(array) for name, array in predictor._arrays.items()}
    return predictor


@cache
def _counts() -> Any:
    return KneserNeyLanguageModel(order=3).fit(SENTENCES)


@cache
def _frequent() -> Any:
    return FrequentNgramVectorizer(max_features=50, ngram_range=(1, 2)).fit(TEXTS)


def _project(texts: list[str]) -> Any:
    return SGNNProjector(n_projections=2, n_bits=4).transform(
        CharNgramFeaturizer().transform(texts)
    )


def _labelled(texts: list[str]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "texts.jsonl")
        path.write_text("".join(json.dumps({"text": text, "label": "a"}) + "\n" for text in texts))
        return load_labelled(path)[0]


def _command_line(texts: list[str]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        save_model(_classifier(), Path(folder, "model"))
        content = "\n".join(texts).encode("utf-8", "surrogatepass")
        result = CliRunner().invoke(
            app, ["predict", "--model", str(Path(folder, "model")), "--quiet"], input=content
        )
    assert result.exit_code in (0, 1), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    if result.exit_code:
        assert result.stderr.startswith("hashnlp: ")
        assert "--debug prints" not in result.stderr
        if b"\0" in content.partition(b"\n")[0]:  # is taken for a binary file
            assert "NUL bytes in the first line" in result.stderr
            return texts
        raise ValueError(result.stderr)
    return texts


ENTRIES: dict[str, Entry] = {
    "words": HashingNgramVectorizer(n_features=64, ngram_range=(1, 3)).transform,
    "characters": HashingNgramVectorizer(
        n_features=64, analyzer="char_wb", ngram_range=(2, 5)
    ).transform,
    "any characters": HashingNgramVectorizer(
        n_features=64, analyzer="char", strip_accents="unicode"
    ).transform,
    "scikit-learn's path": HashingNgramVectorizer(
        n_features=64, token_pattern=r"\S+", strip_accents="ascii"
    ).transform,
    "AutoNgramVectorizer": AutoNgramVectorizer().transform,
    "FrequentNgramVectorizer": lambda texts: _frequent().transform(texts),
    "CharNgramFeaturizer": CharNgramFeaturizer(n_features=64).transform,
    "skip-grams": CharNgramFeaturizer(
        n_features=64, analyzer="skipgram", max_skip=1, ngram_range=(1, 2)
    ).transform,
    "SGNNProjector": _project,
    "SGNNWordProjector": SGNNWordProjector(
        CharNgramFeaturizer(n_features=64), SGNNProjector(n_projections=2, n_bits=4)
    ).transform,
    "TextClassifier": lambda texts: _classifier().predict_proba(texts),
    "TextClassifier, labels": lambda texts: _classifier().predict(texts),
    "exported predictor": lambda texts: _exported().predict_proba(texts),
    "sentence encoder": lambda texts: fitted_encoder().transform(texts),
    "language model": lambda texts: _counts().score_samples(texts),
    "split_sentences": lambda texts: [split_sentences(text) for text in texts],
    "distort_texts": lambda texts: distort_texts(texts, 0.2, random_state=0),
    "labelled file": _labelled,
}


def check(entry: Entry, texts: list[str]) -> bool:
    """Return whether texts were legal; fail unless there is a row for each, or an error that says
    what is wrong.
    """
    message = None
    try:
        # of the encoder, about long texts
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            result = entry(texts)
    except UnicodeError:  # a ValueError that names nothing
        raise
    except ValueError as error:
        message = str(error)
    if message is not None:
        assert "surrogate" in message or "UTF-8" in message, message
        assert any("\ud800" <= character <= "\udfff" for text in texts for character in text), (
            message
        )
        return False
    assert (result.shape[0] if issparse(result) else len(result)) == len(texts)
    values = (
        result
        if isinstance(result, list)
        else result.data
        if issparse(result)
        else np.asarray(result)
    )
    assert isinstance(values, list) or values.dtype.kind != "f" or np.isfinite(values).all()
    return True


@pytest.mark.parametrize("name", ENTRIES)
@settings(max_examples=15)
@given(texts=DOCUMENTS)
def test_any_documents(name: str, texts: list[str]) -> None:
    check(ENTRIES[name], texts)


@settings(max_examples=8)
@example(texts=["\0"])
@given(texts=DOCUMENTS)
def test_any_lines_on_the_command_line(texts: list[str]) -> None:
    check(_command_line, texts)


_MEGABYTES = 10
LONG = {
    "one word": "a" * (_MEGABYTES << 20),
    "words": "word " * (_MEGABYTES * 200_000),
    "NUL": "\0" * (_MEGABYTES << 20),
    "emoji": "👩🏽‍🔬" * (_MEGABYTES << 16),
    "marks": "\u202e\u200d" * (_MEGABYTES << 18),
    "sentences": "A b c. " * (_MEGABYTES * 140_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
@pytest.mark.parametrize("name", ENTRIES)
def test_long_lines(name: str, text: str) -> None:
    assert check(ENTRIES[name], [text, "a"])


def test_every_plane_and_every_kind_of_surrogate_is_legal_or_named() -> None:
    texts = [chr(plane << 16 | low) * 3 for plane in range(17) for low in (0x41, 0xABC, 0xFFFF)]
    for entry in ENTRIES.values():
        assert check(entry, texts)
    refused = [
        name
        for name, entry in ENTRIES.items()
        if not check(entry, ["a \ud800\udfff b", "x\udc80y"])
    ]
    assert {"characters", "CharNgramFeaturizer", "TextClassifier", "exported predictor"} <= set(
        refused
    )
