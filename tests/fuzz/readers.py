"""The readers of files, each with samples of its format and the fragments that it is made of."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from sklearn_hashnlp.classifiers import load_fasttext
from sklearn_hashnlp.datasets import load_labelled
from sklearn_hashnlp.language import KneserNeyLanguageModel
from sklearn_hashnlp.persistence import load_word_vectors
from tests.oracles.fasttext import write as write_fasttext
from tests.persistence.fasttext_models import kept_buckets, random_model


class Reader(NamedTuple):
    """A reader of one kind of file; it may raise a ValueError that names the file, and nothing
    else.
    """

    read: Callable[[Path], object]
    suffix: str
    samples: list[bytes]
    fragments: list[bytes]


def read_input(reader: Reader, path: Path, content: bytes) -> bool:
    """Write and read one input; return whether it was legal, and fail unless an error says what is
    wrong and where.
    """
    path.write_bytes(content)
    try:
        reader.read(path)
    except ValueError as error:
        if isinstance(error, UnicodeError) or path.name not in str(error):
            raise AssertionError(f"no error of this reader: {error!r}") from error
        return False
    return True


_CSV = b'label,text\nspam,"Win, ""now""!"\nham,See you at 8\n\nham,\xc3\xa9t\xc3\xa9\r\n'
_TSV = b"id\ttext\tlabel\n1\tWin now\tspam\n2\tSee you\tham\n"
_JSONL = (
    b'{"text": "Win now", "label": "spam"}\n{"text": "caf\\u00e9", "label": 3}\n\n'
    b'{"text": "a \\ud83d\\ude42", "label": ["a", "b", true, 1.5]}\n'
    b'{"text": "", "label": [], "more": {"a": [1]}}\n'
)
_FASTTEXT = (
    b"__label__sauce __label__cheese How much starch?\n__label__bread Why knead?\n"
    b"no __label__late label\n"
)
_ARPA = (
    b"\\data\\\nngram 1=5\nngram 2=3\nngram 3=1\n\n"
    b"\\1-grams:\n-0.5\t<unk>\t0\n-99\t<s>\t-0.25\n-1\ta\t-0.3\n-0.7\tb\t0\n-0.4\t</s>\n\n"
    b"\\2-grams:\n-0.2\t<s> a\t-0.1\n-0.3\ta b\n-0.6\tb </s>\n\n"
    b"\\3-grams:\n-0.1\t<s> a b\n\n\\end\\\n"
)
_UNIGRAMS = b"comment\n\\data\\\nngram 1=2\n\n\\1-grams:\n-0.75\ta\n-0.5 </s>\n\\end\\\n"
_VECTORS = b"3 2\na 1 0.5\nb 2 -3e-2\n\xe6\x97\xa5\xe6\x9c\xac 0 1\n"
_BINARY = b"2 2\na \0\0\x80?\0\0\0?\nb \0\0\0\0\0\0\0\xc0\n"

_NGRAMS: dict[str, Any] = {"bucket": 9, "word_ngrams": 2, "min_n": 1, "max_n": 2}


def _fasttext_samples() -> list[bytes]:
    pruned = random_model(quantized="in", pruned=kept_buckets(**_NGRAMS), **_NGRAMS)
    models = [random_model(loss="ova", **_NGRAMS), random_model(loss="hs", quantized="io"), pruned]
    return [write_fasttext(model) for model in models]


def _predict_fasttext(path: Path) -> object:
    """Read a model and use it; a score may be infinite."""
    model = load_fasttext(path)
    try:
        return model.predict(["the sauce of a crêpe", ""]), model.predict_proba(["a sauce"])
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _zipped(content: bytes, name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def _read_leniently(path: Path) -> object:
    return load_labelled(path, errors="replace", multilabel=True, label_separator="|")


READERS: dict[str, Reader] = {
    "labelled CSV": Reader(load_labelled, ".csv", [_CSV], [b"label", b"text", b"label,text\n"]),
    "labelled TSV": Reader(_read_leniently, ".tsv", [_TSV], [b"label", b"text", b"|", b"\tlabel"]),
    "labelled JSON lines": Reader(
        load_labelled, ".jsonl", [_JSONL], [b'"text"', b'"label"', b"\\ud800", b"1e999"]
    ),
    "labelled fastText": Reader(
        load_labelled, ".txt", [_FASTTEXT], [b"__label__", b" __label__", b"__label__\0"]
    ),
    "labelled gzip": Reader(load_labelled, ".csv.gz", [gzip.compress(_CSV, mtime=0)], []),
    "labelled bzip2": Reader(load_labelled, ".csv.bz2", [bz2.compress(_CSV)], []),
    "labelled xz": Reader(load_labelled, ".csv.xz", [lzma.compress(_CSV)], []),
    "labelled zip": Reader(
        load_labelled,
        ".zip",
        [_zipped(_CSV, "a.csv"), _zipped(_JSONL, "a.jsonl")],
        [b"PK\x01\x02", b"PK\x05\x06"],
    ),
    "word vectors, text": Reader(
        load_word_vectors, ".txt", [_VECTORS, b"0 3\n"], [b"2 2\n", b"1 0\n", b" 1"]
    ),
    "word vectors, binary": Reader(
        lambda path: load_word_vectors(path, binary=True),
        ".bin",
        [_BINARY, _BINARY.replace(b"\nb", b"b")],
        [b"a "],
    ),
    "fastText": Reader(
        _predict_fasttext,
        ".bin",
        _fasttext_samples(),
        [b"\0" * 8, b"\1\0\0\0", b"\xff\xff\xff\x7f"],
    ),
    "ARPA": Reader(
        KneserNeyLanguageModel.load_arpa,
        ".arpa",
        [_ARPA, _UNIGRAMS],
        [
            b"\\data\\",
            b"ngram 1=",
            b"\\1-grams:\n",
            b"\\end\\",
            b"<s>",
            b"</s>",
            b"<unk>",
            b"-99",
            b"\n-0.5\ta b",
        ],
    ),
}
