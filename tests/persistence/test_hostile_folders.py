"""Model folders of an author who means harm: refused by name, and nothing in them runs."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from sklearn_hashnlp import HashEmbeddingClassifier, HashingNgramVectorizer, TextClassifier
from sklearn_hashnlp.classifiers import EmbeddingTables
from sklearn_hashnlp.kernels.embeddings import _tables
from sklearn_hashnlp.persistence import ModelFormatError, load_model, save_model
from sklearn_hashnlp.persistence._folder_files import FORMAT_VERSION, read_folder
from tests.canary import Canary
from tests.persistence.model_files import PARAMETERS, WEIGHTS, replace_everywhere, write

TEXTS, LABELS = ["a fine film", "dull and long"] * 3, ["good", "bad"] * 3

OF_A_MODEL = {"format": "sklearn-hashnlp model", "format_version": FORMAT_VERSION}


@pytest.fixture(name="canary")
def _canary(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "canary"
    yield path
    assert not path.exists(), "code of the folder ran"


@pytest.fixture(scope="module", name="trained")
def _trained(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("trained")
    small = {
        "n_buckets": 40,
        "n_embeddings": 60,
        "embedding_dim": 2,
        "max_epochs": 1,
        "random_state": 0,
    }
    save_model(TextClassifier(**small, features="words").fit(TEXTS, LABELS), folder)
    return read_folder(folder)


@pytest.fixture(name="folder")
def _folder(trained: Any, tmp_path: Path) -> Path:
    write(tmp_path / "model", *trained)
    return tmp_path / "model"


def refused(folder: Path, message: str | None = None) -> None:
    """Check that loading names folder and reason, in Python and for ``hashnlp predict``."""
    with pytest.raises(ModelFormatError, match=message) as caught:
        load_model(folder)
    assert folder.name in str(caught.value)
    with pytest.raises(ModelFormatError, match=message):
        load_model(folder, predict_only=True)


@pytest.mark.parametrize(
    ("name", "kind"),
    [(WEIGHTS, "pickle"), (PARAMETERS, "joblib"), (WEIGHTS, "numpy"), (PARAMETERS, "torch")],
)
def test_pickles_are_no_models(folder: Path, canary: Path, name: str, kind: str) -> None:
    stream = io.BytesIO()
    if kind == "numpy":
        np.save(stream, np.array([Canary(canary)], dtype=object), allow_pickle=True)
    elif kind == "torch":
        torch = pytest.importorskip("torch")
        torch.save(Canary(canary), stream)
    else:
        (pickle.dump if kind == "pickle" else joblib.dump)(Canary(canary), stream)
    (folder / name).write_bytes(stream.getvalue())
    refused(folder, "damaged")


def test_pickles_beside_a_model_are_not_read(folder: Path, canary: Path) -> None:
    for name in ("model.pkl", "weights.bin", "model.joblib", "__init__.py", "__reduce__"):
        (folder / name).write_bytes(pickle.dumps(Canary(canary)))
    load_model(folder).predict(TEXTS)


@pytest.mark.parametrize("name", [WEIGHTS, PARAMETERS])
def test_links_out_of_the_folder_are_refused(folder: Path, tmp_path: Path, name: str) -> None:
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    refused(folder, f"{name} is a link to a file outside of the folder")
    (folder / name).unlink()
    (folder / name).symlink_to("../elsewhere")
    refused(folder, "outside of the folder")


def test_links_within_the_folder_and_to_it_are_followed(folder: Path, tmp_path: Path) -> None:
    (folder / WEIGHTS).rename(folder / "version-2")
    (folder / WEIGHTS).symlink_to("version-2")
    (tmp_path / "newest").symlink_to(folder)
    load_model(tmp_path / "newest")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize("name", [WEIGHTS, PARAMETERS])
def test_pipes_and_folders_are_no_files(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    refused(folder, f"{name} is not a regular file")
    (folder / name).unlink()
    (folder / name).mkdir()
    refused(folder, "is not a regular file")


def header(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Rewrite the header of the safetensors file, over the bytes that it has."""
    content = (folder / WEIGHTS).read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    described = json.loads(content[8 : 8 + size])
    change(described)
    text = json.dumps(described).encode()
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])


@pytest.mark.parametrize(
    "change",
    [
        lambda tensor: tensor.update(data_offsets=[0, 2**62]),
        lambda tensor: tensor.update(data_offsets=[-8, 0]),
        lambda tensor: tensor.update(data_offsets=[10**30, 10**30]),
        lambda tensor: tensor.update(shape=[2**40, 2**40]),
        lambda tensor: tensor.update(shape=[-1]),
        lambda tensor: tensor.update(dtype="O"),
        lambda tensor: tensor.update(dtype="BF16"),
        lambda tensor: tensor.clear(),
    ],
)
def test_tensors_outside_of_the_file_and_of_other_types(folder: Path, change: Any) -> None:
    header(
        folder,
        lambda described: change(
            described[next(name for name in described if name != "__metadata__")]
        ),
    )
    refused(folder, "damaged|digest")


def test_a_header_of_exabytes_is_not_read(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", 2**62) + b"{}")
    refused(folder, "damaged")


@pytest.mark.parametrize(
    ("name", "value"), [("pool", np.nan), ("head.0.weight", np.inf), ("head.0.bias", -np.inf)]
)
def test_values_that_are_not_finite(trained: Any, tmp_path: Path, name: str, value: float) -> None:
    document, arrays = trained
    key = next(key for key in arrays if name in key and arrays[key].dtype.kind == "f")
    changed = arrays[key].copy()
    changed.reshape(-1)[-1] = value
    write(tmp_path / "model", document, arrays | {key: changed})
    refused(tmp_path / "model", f"array '{key}' has infinite values or NaN")


def test_a_model_with_nan_is_not_saved(tmp_path: Path) -> None:
    rows = np.eye(4)
    model = HashEmbeddingClassifier(
        n_buckets=10, n_embeddings=10, embedding_dim=2, max_epochs=1, random_state=0
    )
    model.fit(rows, [0, 1, 0, 1])
    with pytest.MonkeyPatch.context() as patch:
        values, arrays = model._get_model_state()
        arrays = {
            key: array * np.nan if key == "head.0.bias" else array for key, array in arrays.items()
        }
        patch.setattr(type(model), "_get_model_state", lambda _: (values, arrays))
        with pytest.raises(
            ValueError, match=r"cannot hold 'head\.0\.bias' .*: it has infinite values or NaN"
        ):
            save_model(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_repeated_keys_are_refused(trained: Any, tmp_path: Path) -> None:
    document, arrays = trained
    text = json.dumps(document).replace('"class":', '"class": "Pipeline", "class":', 1)
    write(tmp_path / "model", document, arrays, text)
    refused(tmp_path / "model", "the key 'class' is repeated")


def test_nesting_without_end(trained: Any, tmp_path: Path) -> None:
    document, arrays = trained
    for nested in (
        "[" * 100_000,
        '{"a":' * 100_000,
        "[" * 900 + "]" * 900,
        '{"tuple":[' * 450 + "]}" * 450,
    ):
        text = json.dumps(document).replace(
            '"parameters": {', f'"parameters": {{"a": {nested}, ', 1
        )
        write(tmp_path / "model", document, arrays, text)
        refused(tmp_path / "model")


SIZES = [
    "n_features",
    "num_embeddings",
    "num_buckets",
    "embedding_dim",
    "num_hashes",
    "num_classes",
]


@pytest.mark.parametrize("number", [10**18, 2**31, -1, 0, 10**400, 1e308, float("nan")])
@pytest.mark.parametrize("name", SIZES)
def test_numbers_that_memory_cannot_hold_take_none(
    trained: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: float
) -> None:
    def lazy_bytes(n_bytes: int) -> bytearray:
        assert n_bytes < 2**20
        return bytearray(n_bytes)

    monkeypatch.setattr(_tables, "lazy_bytes", lazy_bytes)
    document, arrays = trained
    changed = replace_everywhere(document["model"], name, number)
    assert changed != document["model"]
    write(tmp_path / "model", document | {"model": changed}, arrays)
    with pytest.raises(ModelFormatError, match="model"):
        load_model(tmp_path / "model")
    with suppress(ModelFormatError):  # numbers that it does not need
        load_model(tmp_path / "model", predict_only=True).predict_topk(TEXTS, 1)


DAMAGED = "learned state of HashEmbeddingClassifier does not fit"


@pytest.mark.parametrize(
    ("dtype", "values", "message"),
    [
        *(
            (dtype, ["bad", "good"], DAMAGED)
            for dtype in (",", "04", "a4", "V8", "i4,i4", "M8[s]", "", 3, None)
        ),
        ("<i8", [0, 2**63], DAMAGED),
        ("<U100000000", ["bad", "good"], "2 labels would take 800,000,000 bytes"),
    ],
)
def test_labels_of_types_that_are_none(
    trained: Any, tmp_path: Path, dtype: Any, values: Any, message: str
) -> None:
    """Found by fuzzing: numpy raises a SyntaxError for some."""
    document, arrays = trained
    labels = {"dict": [["dtype", dtype], ["values", values]]}
    write(
        tmp_path / "model",
        document | {"model": replace_everywhere(document["model"], "classes", labels)},
        arrays,
    )
    refused(tmp_path / "model", message)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "os.system",
            "posix.system",
            "builtins.eval",
            "subprocess.Popen",
            "joblib.Memory",
            "../TextClassifier",
        ),
        *(
            "sklearn_hashnlp.cli",
            "VotingClassifier",
            "__builtins__",
            "",
            "TextClassifier.fit",
            "textclassifier",
        ),
    ],
)
def test_unknown_classes_are_not_imported(trained: Any, tmp_path: Path, name: str) -> None:
    document, arrays = trained
    model = document["model"] | {"class": name}
    write(tmp_path / "model", document | {"model": model}, arrays)
    modules = set(sys.modules)
    refused(tmp_path / "model", f"has the class '{name}'")
    assert not {
        module for module in set(sys.modules) - modules if not module.startswith("sklearn_hashnlp")
    }


def _renamed(
    document: dict[str, Any], arrays: dict[str, Any], old: str, new: str
) -> tuple[Any, Any]:
    text = json.dumps(document["model"])
    changed = text.replace(f'"{old}": "{old}"', f'"{old}": {json.dumps(new)}')
    assert changed != text
    return document | {"model": json.loads(changed)}, {
        new if name == old else name: array for name, array in arrays.items()
    }


@pytest.mark.parametrize("new", ["../../canary", "/tmp/canary", "a\0b", "..", "~/x"])
def test_names_of_arrays_are_no_paths(trained: Any, tmp_path: Path, canary: Path, new: str) -> None:
    document, arrays = trained
    before = sorted(tmp_path.rglob("*"))
    write(tmp_path / "model", *_renamed(document, arrays, "head.0.bias", new))
    load_model(tmp_path / "model").predict(TEXTS)
    created = set(tmp_path.rglob("*")) - set(before)
    assert {path.name for path in created} == {"model", WEIGHTS, PARAMETERS}


@pytest.mark.parametrize(
    "change",
    [
        lambda array: array[:-1],
        lambda array: np.concatenate([array, array]),
        lambda array: array.reshape(-1, 1, *array.shape[1:]),
        lambda array: array.astype(np.float64 if array.dtype != np.float64 else np.float32),
        lambda array: array.astype(np.bool_),
        lambda array: array.astype(np.int64) if array.dtype != np.int64 else array.astype(np.int8),
    ],
)
def test_arrays_of_other_shapes_and_types(trained: Any, tmp_path: Path, change: Any) -> None:
    """They are refused, or have the same values in another type and change no prediction."""
    document, arrays = trained
    write(tmp_path / "whole", document, arrays)
    expected = load_model(tmp_path / "whole").predict_proba(TEXTS)
    n_refused = 0
    for name in arrays:
        changed = np.ascontiguousarray(change(arrays[name]))
        write(tmp_path / "model", document, arrays | {name: changed})
        try:
            loaded = load_model(tmp_path / "model")
        except ModelFormatError:
            n_refused += 1
        else:
            exact = changed.shape == arrays[name].shape and np.array_equal(changed, arrays[name])
            assert exact, f"{name} as {changed.dtype} {changed.shape}"
            np.testing.assert_array_equal(loaded.predict_proba(TEXTS), expected)
    assert n_refused > 0


def test_parameters_that_would_fail_or_read_files_later(tmp_path: Path) -> None:
    for parameters, message in (
        ({"ngram_range": {"tuple": [1, "2"]}}, "'ngram_range' must be two integers"),
        ({"dtype": "/etc/passwd"}, "'dtype'"),
        ({"stop_words": [1]}, "'stop_words'"),
        ({"n_features": 10**18}, "n_features"),
    ):
        model = {"class": "HashingNgramVectorizer", "parameters": parameters}
        write(tmp_path / "model", OF_A_MODEL | {"model": model}, {})
        refused(tmp_path / "model", message)
    for steps in ([["a", 1]], [{"tuple": [1, None]}], ["passthrough"], [], "steps"):
        model = {"class": "Pipeline", "parameters": {"steps": steps}}
        write(tmp_path / "model", OF_A_MODEL | {"model": model}, {})
        refused(tmp_path / "model", "'steps'")


def test_more_columns_than_rows_of_the_table(tmp_path: Path) -> None:
    texts, labels = ["a b", "c d"] * 5, ["x", "y"] * 5
    vectorizer = HashingNgramVectorizer(n_features=1000)
    tables = EmbeddingTables(hash_rows=False)
    classifier = HashEmbeddingClassifier(embedding=tables, random_state=0).fit(
        vectorizer.transform(texts), labels
    )
    model = TextClassifier(random_state=0).fit(texts, labels)
    vectorizer.n_features = 2**30
    model.pipeline_.steps = [("vectorizer", vectorizer), ("classifier", classifier)]
    save_model(model, tmp_path / "model")
    for given in (["a b"], texts):
        with pytest.raises(ValueError, match="X has 1073741824 features"):
            load_model(tmp_path / "model").predict(given)


def test_parts_of_unions_and_classifiers_that_would_fail_later(
    trained: Any, tmp_path: Path
) -> None:
    """Found by fuzzing."""
    description = {
        "class": "FeatureUnion",
        "parameters": {"transformer_list": [], "n_jobs": {"tuple": [1, 2]}},
    }
    write(tmp_path / "union", OF_A_MODEL | {"model": description}, {})
    refused(tmp_path / "union", "'n_jobs' must be an integer")
    document, arrays = trained
    model = json.loads(json.dumps(document["model"]))
    steps = model["state"]["pipeline"]["estimator"]["parameters"]["steps"]
    del steps[0]
    write(tmp_path / "model", document | {"model": model}, arrays)
    refused(tmp_path / "model", "must be a vectorizer and a HashEmbeddingClassifier")
