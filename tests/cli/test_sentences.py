"""Training, searching and embedding sentences from the shell."""

from __future__ import annotations

import bz2
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sklearn_hashnlp
from sklearn_hashnlp import SGNNSentenceEncoder, save_model
from sklearn_hashnlp.sentences import Network

SMALL = {
    "n_projections": 20,
    "n_bits": 8,
    "projection_dim": 32,
    "network": Network(16),
    "n_tables": 2,
    "table_bits": 6,
}
PARAGRAPHS = [
    "The cat sleeps all day. It purrs when it sleeps.",
    "Shares fell sharply. Investors sold their shares.",
    "The dog barks at the cat. The cat runs away.",
] * 4


@pytest.fixture(scope="module")
def encoder() -> SGNNSentenceEncoder:
    return SGNNSentenceEncoder(**SMALL, random_state=0).fit(PARAGRAPHS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, encoder: SGNNSentenceEncoder) -> Path:
    path = tmp_path_factory.mktemp("search") / "encoder"
    save_model(encoder, path)
    return path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("The price of shares\n\nCats are asleep\nA dog barked\n", encoding="utf-8")
    return path


@pytest.fixture
def train(hashnlp: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run ``hashnlp sentences train``; the encoder is small."""

    def run(*arguments: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(
                sklearn_hashnlp, "SGNNSentenceEncoder", partial(SGNNSentenceEncoder, **SMALL)
            )
            return hashnlp("sentences", "train", *arguments)

    return run


def test_sentences_are_trained_searched_and_embedded_from_the_shell(
    hashnlp: Any, train: Any, tmp_path: Path, texts: Path
) -> None:
    book = tmp_path / "book.txt"
    book.write_text("\n\n".join(text.replace(". ", ".\n") for text in PARAGRAPHS), encoding="utf-8")
    result = train(book, "--model", tmp_path / "m", "--paragraphs", "block")
    assert result.code == 0, result.err
    assert "Read 12 paragraphs, separated by blank lines, with 24 sentences from" in result.err
    assert "Saved in" in result.out
    vectors = tmp_path / "vectors.npy"
    result = hashnlp("sentences", "embed", "-m", tmp_path / "m", texts, "-o", vectors)
    assert (result.code, np.load(vectors).shape[0]) == (0, 4)
    assert not np.load(vectors)[1].any()  # the blank line
    found = [
        hashnlp(
            "sentences", "search", "-m", tmp_path / "m", texts, "sleeping cats", "--top", 2, *more
        )
        for more in ([], ["--vectors", vectors])
    ]
    assert found[0].out == found[1].out
    assert found[0].out.splitlines()[0].split("\t")[1:] == ["3", "Cats are asleep"]
    assert len(found[0].out.splitlines()) == 2


def test_a_dump_of_wikipedia_is_read(train: Any, tmp_path: Path) -> None:
    dump = tmp_path / "articles.xml.bz2"
    pages = "".join(
        f"<page><ns>0</ns><revision><text>'''{text}'''</text></revision></page>"
        for text in PARAGRAPHS
    )
    dump.write_bytes(bz2.compress(f"<mediawiki>{pages}</mediawiki>".encode()))
    result = train(dump, "--model", tmp_path / "m")
    assert result.code == 0, result.err
    assert "Read 12 paragraphs, of a dump, with 24 sentences from" in result.err


def test_queries_are_read_from_stdin_and_results_are_json(
    hashnlp: Any, folder: Path, texts: Path
) -> None:
    result = hashnlp(
        "sentences",
        "search",
        "-m",
        folder,
        texts,
        "--top",
        1,
        stdin="share price\n\nbarking dogs\n",
    )
    assert [line.split("\t")[0] for line in result.out.splitlines()] == [
        "share price",
        "barking dogs",
    ]
    found = hashnlp(
        "sentences", "search", "-m", folder, texts, "share price", "--json", "--top", 1
    ).json
    assert found["results"][0]["line"] == 1
    assert found["results"][0]["text"] == "The price of shares"


def test_vectors_are_printed_one_line_per_text(hashnlp: Any, folder: Path) -> None:
    result = hashnlp("sentences", "embed", "-m", folder, stdin="A cat\nA dog\n")
    assert [len(line.split(" ")) for line in result.out.splitlines()] == [48, 48]


def test_wrong_files_are_errors_of_one_line(
    hashnlp: Any, folder: Path, texts: Path, model: Path
) -> None:
    other = texts.with_name("other.npy")
    np.save(other, np.zeros((2, 3), dtype=np.float32))
    empty = texts.with_name("empty.txt")
    empty.write_text("\n", encoding="utf-8")
    for arguments, message in (
        (["search", "-m", model, texts, "cat"], "not a sentence encoder"),
        (
            ["search", "-m", folder, texts, "cat", "--vectors", other],
            "has vectors of shape (2, 3); expected (4, 48)",
        ),
        (["search", "-m", folder, texts, "cat", "--vectors", texts], "is not a NumPy array"),
        (["search", "-m", folder, empty, "cat"], "has no text to search"),
        (["train", empty, "-m", texts.with_name("m")], "has no text to train on"),
        (
            ["embed", "-m", folder, texts, "-o", texts.with_name("missing") / "v.npy"],
            "does not exist",
        ),
    ):
        result = hashnlp("sentences", *arguments)
        assert (result.code, len(result.err.splitlines())) == (1, 1), result.err
        assert message in result.err
    assert hashnlp("sentences", "search", "-m", folder, texts, "cat", "--top", 0).code == 2


def test_a_file_of_single_sentences_is_said(train: Any, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("The cat sleeps.\nThe dog barks.\n\nShares fell.\n", encoding="utf-8")
    result = train(path, "-m", tmp_path / "m")
    assert "Read 3 paragraphs, a line each, with 3 sentences" in result.err
    assert "--paragraphs block" in result.err
