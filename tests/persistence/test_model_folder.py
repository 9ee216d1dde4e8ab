"""Model folders: round trips, refused models and folders, and saves that were killed."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from safetensors.numpy import save_file
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import Pipeline

from sklearn_hashnlp import TextClassifier
from sklearn_hashnlp._hash_specification import HASH_SPECIFICATION
from sklearn_hashnlp.persistence import (
    ModelFormatError,
    _folder_files,
    _model_folder,
    load_model,
    save_model,
)
from sklearn_hashnlp.persistence._tables import Precision
from tests.persistence.model_files import write

TEXTS = ["good day", "bad day", "good good", "bad night"]
LABELS = ["+", "-", "+", "-"]
FILES = ["parameters.json", "weights.safetensors", "README.md"]


@pytest.fixture
def model(centroids: Any) -> Any:
    return Pipeline(
        [("vectorizer", HashingVectorizer(n_features=64)), ("classifier", centroids())]
    ).fit(TEXTS, LABELS)


@pytest.fixture
def saved(model: Any, tmp_path: Path) -> Path:
    save_model(model, tmp_path / "model")
    return tmp_path / "model"


def rewrite(folder: Path, **changes: Any) -> None:
    """Change the document of a model in both files, the digest with it."""
    document, arrays = _folder_files.read_folder(folder)
    write(folder, document | changes, arrays)


def test_a_new_folder_in_new_folders(model: Any, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    save_model(model, str(folder))
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    loaded = load_model(str(folder))
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS))
    document = json.loads((folder / FILES[0]).read_text())
    versions = document["format_version"], document["hash_specification"]
    assert versions == (_folder_files.FORMAT_VERSION, HASH_SPECIFICATION)
    assert document["model"]["class"] == "Pipeline"


@pytest.mark.parametrize("labels", [LABELS, [["+", "day"], ["-"], [], ["-", "night"]]])
def test_predictions_alone_are_those_of_the_whole_model(tmp_path: Path, labels: Any) -> None:
    model = TextClassifier(features="words", random_state=0).fit(TEXTS, labels)
    save_model(model, tmp_path)
    light = load_model(tmp_path, predict_only=True)
    assert not hasattr(light, "get_params")
    assert light.multilabel_ is model.multilabel_ is (labels is not LABELS)
    assert light.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()
    np.testing.assert_allclose(light.predict_proba(TEXTS), model.predict_proba(TEXTS), atol=1e-5)
    best = [[label for label, _ in row] for row in light.predict_topk(TEXTS, 2, 0.1)]
    assert best == [[label for label, _ in row] for row in model.predict_topk(TEXTS, 2, 0.1)]


def test_other_models_are_whole_where_predictions_alone_are_wanted(saved: Path) -> None:
    assert isinstance(load_model(saved, predict_only=True), Pipeline)


def test_a_checkpoint_folder_is_named(tmp_path: Path) -> None:
    for epoch in ("epoch-00001", "epoch-00002"):
        (tmp_path / epoch).mkdir()
    with pytest.raises(FileNotFoundError, match=r"use one of its epochs, such as .*epoch-00002\.$"):
        load_model(tmp_path)


def test_precision_and_training_state_reach_the_folder(centroids: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(1000, 32)).astype(np.float32)
    model = centroids().fit(X, np.arange(1000))
    sizes = {}
    for precision in get_args(Precision):
        folder = tmp_path / precision
        save_model(model, folder, precision=precision)
        sizes[precision] = (folder / FILES[1]).stat().st_size
        loaded = load_model(folder)
        np.testing.assert_allclose(loaded.means_, model.means_, atol=0.04)
        assert not hasattr(loaded, "counts_")
        first = [(folder / name).read_bytes() for name in FILES]
        save_model(loaded, folder, precision=precision)
        assert [(folder / name).read_bytes() for name in FILES] == first
    assert sizes["float32"] - sizes["float16"] == pytest.approx(2 * X.size, abs=300)
    assert sizes["float32"] - sizes["int8"] == pytest.approx(3 * X.size, abs=500)
    save_model(model, tmp_path / "whole", training_state=True)
    np.testing.assert_array_equal(load_model(tmp_path / "whole").counts_, model.counts_)


def test_invalid_options_are_refused(model: Any, saved: Path) -> None:
    before = [(saved / name).read_bytes() for name in FILES]
    with pytest.raises(
        ValueError,
        match=r"precision must be one of \('float32', 'float16', 'int8', 'int4'\), got 'int2'",
    ):
        save_model(model, saved, precision="int2")
    with pytest.raises(
        ValueError,
        match=r"'int4' is for Coocc.* and Dist.*, and this model has tables of a Centroids",
    ):
        save_model(model, saved, precision="int4")
    with pytest.raises(
        ValueError, match=r"training_state=True needs precision='float32', got 'int8'"
    ):
        save_model(model, saved, precision="int8", training_state=True)
    assert [(saved / name).read_bytes() for name in FILES] == before


def test_a_model_without_learned_state_needs_no_hash_specification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_model_folder, "HASH_SPECIFICATION", 99)
    save_model(HashingVectorizer(n_features=8), tmp_path)
    assert load_model(tmp_path).n_features == 8


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_follow_the_umask(model: Any, tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        save_model(model, tmp_path / "model")
    finally:
        os.umask(before)
    assert {stat.S_IMODE((tmp_path / "model" / name).stat().st_mode) for name in FILES} == {
        0o666 & ~mask
    }


def test_a_folder_with_other_files_is_refused(model: Any, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(FileExistsError, match=r"holds 'thesis\.txt' but no model"):
        save_model(model, tmp_path)
    (tmp_path / FILES[0]).write_text('{"alpha": 1}')
    (tmp_path / FILES[1]).write_bytes(b"somebody else's")
    with pytest.raises(FileExistsError, match="but no model"):
        save_model(model, tmp_path)
    with pytest.raises(FileExistsError, match="is a file"):
        save_model(model, tmp_path / "thesis.txt")
    with pytest.raises(FileExistsError, match=r"thesis\.txt' is a file"):
        save_model(model, tmp_path / "thesis.txt" / "a" / "b")


def test_a_folder_that_is_not_writable_is_an_error_before_any_work(
    model: Any, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system", "somewhere")

    for function in ("mkdir", "mkdtemp"):
        with monkeypatch.context() as patch:
            patch.setattr(Path if function == "mkdir" else tempfile, function, refuse)
            for folder in (saved, saved.parent / "new" / "model"):
                with pytest.raises(
                    OSError, match=r"no model can be saved there \(Read-only file system\)"
                ) as caught:
                    save_model(None, folder, dry_run=True)
                assert caught.value.filename == str(folder)
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_checking_a_model_before_its_training(saved: Path) -> None:
    save_model(TextClassifier(), saved, dry_run=True)
    with pytest.raises(TypeError, match=r"it is a builtins\.object"):
        save_model(object(), saved, dry_run=True)
    with pytest.raises(TypeError, match="'random_state' of TextClassifier"):
        save_model(TextClassifier(random_state=np.random.RandomState(0)), saved, dry_run=True)


def test_checking_that_a_model_can_be_saved_leaves_no_files(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(saved.parent)
    for folder in (saved, Path("a/b"), Path("c")):
        save_model(None, folder, dry_run=True)
    assert [path.name for path in saved.parent.iterdir()] == ["model"]
    assert sorted(path.name for path in saved.iterdir()) == sorted(FILES)


def nested(value: Any, wrap: Callable[[Any], Any]) -> Any:
    for _ in range(2000):
        value = wrap(value)
    return value


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: HashingVectorizer(analyzer=str.split), TypeError, "analyzer"),
        (
            lambda: nested(HashingVectorizer(), lambda part: Pipeline([("step", part)])),
            ValueError,
            "it is nested",
        ),
        (
            lambda: HashingVectorizer(stop_words=nested([], lambda part: [part])),
            ValueError,
            "it is nested",
        ),
    ],
    ids=["code", "pipelines", "lists"],
)
def test_a_refused_model_changes_no_file(
    saved: Path, tmp_path: Path, make: Callable[[], Any], error: type[Exception], message: str
) -> None:
    before = [(saved / name).read_bytes() for name in FILES]
    for folder in (saved, tmp_path / "new"):
        with pytest.raises(error, match=message):
            save_model(make(), folder)
    assert [(saved / name).read_bytes() for name in FILES] == before
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("survivors", [[], FILES[:1], [FILES[0], FILES[2]]])
def test_a_crash_before_the_last_renaming_leaves_the_old_model(
    model: Any, saved: Path, monkeypatch: pytest.MonkeyPatch, survivors: list[str]
) -> None:
    replace = Path.replace
    renamed: list[str] = []

    def crash(self: Path, target: Path) -> None:
        if target.name not in survivors:
            raise KeyboardInterrupt
        renamed.append(target.name)
        replace(self, target)

    model.set_params(classifier__scale=2.0)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", crash)
        with pytest.raises(KeyboardInterrupt):
            save_model(model, saved)
    assert renamed == survivors
    assert sorted(path.name for path in saved.iterdir()) == sorted(FILES)
    assert load_model(saved)["classifier"].scale == 1.0
    save_model(model, saved)
    assert load_model(saved)["classifier"].scale == 2.0


def test_a_crash_of_the_first_save_can_be_repaired(model: Any, saved: Path) -> None:
    (saved / FILES[1]).unlink()
    (saved / ".unfinished-abandoned").mkdir()
    with pytest.raises(
        ModelFormatError, match=r"weights\.safetensors is missing: saving was interrupted"
    ):
        load_model(saved)
    save_model(model, saved)
    load_model(saved)


def test_a_missing_model_is_a_file_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="the folder does not exist"):
        load_model(tmp_path / "nothing")
    with pytest.raises(
        FileNotFoundError, match=r"expected parameters\.json and weights\.safetensors there"
    ):
        load_model(tmp_path)


def test_an_edited_copy_is_refused(saved: Path) -> None:
    text = (saved / FILES[0]).read_text()
    (saved / FILES[0]).write_text(text.replace('"n_features": 64', '"n_features": 32'))
    with pytest.raises(ModelFormatError, match=r"parameters\.json was edited.*set_params"):
        load_model(saved)
    (saved / FILES[0]).write_text(json.dumps(json.loads(text)))  # other blanks are no edit
    load_model(saved)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "damaged: it is not JSON"),
        (b"\xff", "not JSON"),
        (b"[]", "no digest"),
        (None, "is missing: the copy"),
    ],
)
def test_a_damaged_copy_is_refused(saved: Path, content: bytes | None, message: str) -> None:
    (saved / FILES[0]).unlink()
    if content is not None:
        (saved / FILES[0]).write_bytes(content)
    with pytest.raises(ModelFormatError, match=rf"parameters\.json .*{message}"):
        load_model(saved)


def test_damaged_weights_are_refused(saved: Path, tmp_path: Path) -> None:
    path = saved / FILES[1]
    whole = path.read_bytes()
    for content in (b"", whole[:-8], whole[:20], b"\xff" * 100):
        path.write_bytes(content)
        with pytest.raises(ModelFormatError, match="damaged"):
            load_model(saved)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ModelFormatError, match=r"The digest of weights\.safetensors is wrong"):
        load_model(saved)
    path.write_bytes(whole.replace(b'n_features\\": 64', b'n_features\\": 32'))
    with pytest.raises(ModelFormatError, match="digest"):
        load_model(saved)
    for metadata in (
        None,
        {"sklearn-hashnlp": '{"format": "other"}'},
        {"sklearn-hashnlp": "[" * 100_000},
    ):
        save_file({"a": np.zeros(3)}, path, metadata=metadata)
        with pytest.raises(ModelFormatError, match=r"not a model of sklearn-hashnlp|not JSON"):
            load_model(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": 6}, "format version is 6, .* reads 5. Upgrade with: pip install"),
        ({"format_version": 4}, "format version is 4, .* reads 5. Train it again"),
        ({"format_version": "1"}, "format version is '1'; expected a positive integer"),
        ({"hash_specification": 7}, "trained with version 7 of the hash functions, .* has 2"),
        ({"model": {"class": "os.system", "parameters": {}}}, "has the class 'os.system'"),
        ({"model": None}, "Expected the description of an estimator"),
    ],
)
def test_other_versions_and_unknown_models_are_refused(
    saved: Path, changes: dict[str, Any], message: str
) -> None:
    rewrite(saved, **changes)
    with pytest.raises(
        ModelFormatError, match=rf"The model in '.*' cannot be loaded\. .*{message}"
    ):
        load_model(saved)


WRITER = """
import sys
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn_hashnlp.persistence import save_model
print("ready", flush=True)
number = 0
while True:
    number += 1
    save_model(HashingVectorizer(n_features=number, token_pattern=str(number)), sys.argv[1])
"""


@pytest.mark.skipif(os.name == "nt", reason="a file that is open cannot be replaced on Windows")
def test_a_reader_sees_whole_models_while_a_writer_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_model(HashingVectorizer(n_features=1, token_pattern="1"), folder)
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        seen, deadline = set(), time.monotonic() + 60
        while len(seen) < 5 and time.monotonic() < deadline:
            loaded = load_model(folder)
            assert loaded.token_pattern == str(loaded.n_features)
            seen.add(loaded.n_features)
        writer.send_signal(signal.SIGKILL)
    loaded = load_model(folder)
    assert loaded.token_pattern == str(loaded.n_features)
    assert len(seen) >= 5
