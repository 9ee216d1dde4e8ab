"""Weights of an exported predictor of an author who means harm: refused by name, and nothing in
them runs.
"""

from __future__ import annotations

import json
import pickle
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp import TextClassifier
from sklearn_hashnlp.classifiers import export_predictor
from sklearn_hashnlp.classifiers.export._standalone_linear import _read_predictor
from tests.canary import Canary

TEXTS = ["a fine film", "a dull and long one"] * 3


@pytest.fixture(scope="module", name="content")
def _content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    small = {
        "n_buckets": 40,
        "n_embeddings": 60,
        "embedding_dim": 2,
        "max_epochs": 1,
        "random_state": 0,
    }
    folder = tmp_path_factory.mktemp("exported") / "predictor"
    export_predictor(
        TextClassifier(**small, features="words").fit(TEXTS, ["good", "bad"] * 3), folder
    )
    return (folder / "weights.bin").read_bytes()


def refused(path: Path, message: str) -> None:
    with pytest.raises(ValueError, match=rf"weights\.bin is damaged: .*{message}"):
        _read_predictor(path)


def test_the_folder_reads_its_weights_and_names_them(content: bytes, tmp_path: Path) -> None:
    model = TextClassifier(
        n_buckets=40, n_embeddings=60, embedding_dim=2, max_epochs=1, random_state=0
    )
    folder = tmp_path / "exported"
    export_predictor(model.fit(TEXTS, ["good", "bad"] * 3), folder)
    [program] = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    runpy.run_path(str(program))["predict"](TEXTS)
    (folder / "weights.bin").write_bytes(content[:-200])
    with pytest.raises(ValueError, match=r"weights\.bin is damaged"):
        runpy.run_path(str(program))["predict"](TEXTS)


def test_pickles_are_refused_and_not_loaded(tmp_path: Path) -> None:
    canary, path = tmp_path / "canary", tmp_path / "weights.bin"
    path.write_bytes(pickle.dumps(Canary(canary)))
    refused(path, "")
    path.write_bytes(json.dumps({"arrays": []}).encode() + b"\n" + pickle.dumps(Canary(canary)))
    refused(path, "")
    assert not canary.exists()


def changed(content: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    line, _, arrays = content.partition(b"\n")
    header = json.loads(line)
    change(header)
    text = json.dumps(header).encode()
    return text + b" " * (-(len(text) + 1) % 64) + b"\n" + arrays


def of_array(name: str, part: int, value: Any) -> Callable[[dict[str, Any]], object]:
    def change(header: dict[str, Any]) -> None:
        next(layout for layout in header["arrays"] if layout[0] == name)[part] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (of_array("pool", 1, "O"), "'pool' is not in the file"),
        (of_array("pool", 1, "V8"), "'pool' is not in the file"),
        (of_array("pool", 2, [-1, -1]), "'pool' is not in the file"),
        (of_array("pool", 2, [2**40, 2**40]), "'pool' is not in the file"),
        (of_array("pool", 3, -64), "'pool' is not in the file"),
        (of_array("pool", 3, 10**30), "'pool' is not in the file"),
        (of_array("weight", 2, [4, 1]), "'weight' must be numbers of shape"),
        (of_array("bias", 1, "<i4"), "'bias' must be numbers"),
        (lambda header: header["labels"].update(dtype="<U500000000"), "2 labels of type"),
        (lambda header: header["labels"].update(dtype="V1000000000"), "labels of type"),
        (lambda header: header["labels"].update(dtype=","), "labels of type"),
        (lambda header: header["labels"].update(values=["a"]), "must be numbers of shape"),
        (lambda header: header["bag"].update(num_buckets=10**18), "no numbers of rows"),
        (lambda header: header["bag"].update(num_embeddings=-1), "no numbers of rows"),
        (lambda header: header["bag"].update(hash_rows=False), "60 rows are fewer than .* columns"),
        (lambda header: header["bag"].update(variant="os.system"), "none of"),
        (lambda header: header["bag"].update(constants=[[1, 2]]), "constants"),
        (lambda header: header["bag"].update(constants=[[1, 2], [-1, 2]]), "constants"),
        (lambda header: header["bag"].update(constants=[[1, 2, 3], [4]]), "constants"),
        (lambda header: header["vectorizers"][0].update(n_features=10**18), "columns"),
        (lambda header: header["vectorizers"][0].update(ngram_range=[-(10**9), 2]), "n-grams of"),
        (lambda header: header["vectorizers"][0].update(token_pattern="("), "missing"),
        (
            lambda header: header["vectorizers"][0].update(decode=["utf-8", 7]),
            "the part 'decode' of the header",
        ),
        (lambda header: header["vectorizers"][0].pop("stop_words"), "stop_words"),
        (lambda header: header.update(vectorizers=[]), "no vectorizer"),
        (lambda header: header.update(vectorizers=7), "not iterable"),
        (lambda header: header.update(bag=None), "not subscriptable"),
        (lambda header: header.pop("multilabel"), "multilabel"),
        (lambda header: header.update(half=-1.0), "the part 'half' of the header is -1.0"),
        (lambda header: header.update(half=float("inf")), "the part 'half' of the header is inf"),
        (lambda header: header.update(half=float("nan")), "the part 'half' of the header is nan"),
        (lambda header: header.update(half=True), "the part 'half' of the header is True"),
        (lambda header: header.update(half="7"), "the part 'half' of the header is '7'"),
        (lambda header: header.update(arrays=header["arrays"][:2] + header["arrays"][3:]), "prior"),
        (of_array("prior", 2, [1]), "'prior' must be numbers of shape"),
        (of_array("common_columns", 1, "<f4"), "the common columns are not ascending integers"),
        (of_array("common_columns", 2, [1, 2]), "the common columns are not ascending integers"),
        (of_array("common_values", 2, [2]), "'common_values' must be numbers of shape"),
        (of_array("common_values", 1, "<i4"), "'common_values' must be numbers of shape"),
    ],
)
def test_headers_are_checked(content: bytes, tmp_path: Path, change: Any, message: str) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(changed(content, change))
    refused(path, message)


@pytest.mark.parametrize(
    "text", [b"", b"\n", b"[]\n", b"[" * 100_000 + b"\n", b'{"arrays": [[1]]}\n', b"\xff\n"]
)
def test_files_without_a_header(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(text)
    refused(path, "")


def test_rows_and_values_that_are_none(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    header = json.loads(content.partition(b"\n")[0])
    start = content.index(b"\n") + 1
    of = {layout[0]: layout for layout in header["arrays"]}

    def with_first(name: str, value: float) -> bytes:
        _, dtype, shape, offset = of[name]
        assert shape[0] > 0
        number = np.array(value, dtype).tobytes()
        return content[: start + offset] + number + content[start + offset + len(number) :]

    for name, value, message in (
        ("pool.rows", 2**32 - 1, "rows of 'pool' are not ascending integers below"),
        ("common_columns", 2**32 - 1, "common columns are not ascending integers below"),
        ("common_values", np.nan, "'common_values' has infinite values or NaN"),
        ("prior", np.inf, "'prior' has infinite values or NaN"),
    ):
        path.write_bytes(with_first(name, value))
        refused(path, message)
    path.write_bytes(with_first("bias", np.nan))
    with pytest.raises(ValueError, match="scores are infinite or NaN"):
        _read_predictor(path).predict(["a text"])
