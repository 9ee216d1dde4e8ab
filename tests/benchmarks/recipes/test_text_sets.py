"""Sets of Zhang, Zhao and LeCun: downloaded from a server on this machine, found and read."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchmarks.recipes import text_sets
from benchmarks.recipes.text_sets import ARCHIVES, Archive, find_text_set, read_text_set

FILES = {
    "train.csv": '"3","Wall St.","a\\nation"\n"1","b","c"\n',
    "test.csv": '"4","d","e"\n',
    "readme.txt": "Terms",
}


def write_set(folder: Path, train: str = "", test: str = "") -> Path:
    folder.mkdir(parents=True)
    (folder / "train.csv").write_text(train, encoding="utf-8")
    (folder / "test.csv").write_text(test, encoding="utf-8")
    return folder


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Serve a small archive of the set ``ag``, with its own SHA-256 unless another is given."""
    (tmp_path / "served").mkdir()
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "served"))
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_arguments: None)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        address = f"http://127.0.0.1:{server.server_port}/ag_news_csv.tgz"
        monkeypatch.setattr(Archive, "url", address)

        def serve(files: dict[str, str], sha256: str | None = None) -> None:
            path = tmp_path / "served" / "ag_news_csv.tgz"
            with tarfile.open(path, "w:gz") as tar:
                for name, content in files.items():
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content.encode()))
            digest = sha256 or hashlib.sha256(path.read_bytes()).hexdigest()
            monkeypatch.setitem(ARCHIVES, "ag", ARCHIVES["ag"]._replace(sha256=digest))

        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield serve
        server.shutdown()
        thread.join()


def test_a_set_is_downloaded_once_and_found(
    served: Any, bench: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    served({f"ag_news_csv/{name}": content for name, content in FILES.items()})
    monkeypatch.setenv("HASHNLP_DATA", str(tmp_path / "home"))
    result = bench("fetch", "ag")
    folder = tmp_path / "home" / "ag_news_csv"
    assert (result.code, result.out) == (0, f"ag: {folder}\n"), result.err
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["ag_news_csv"]
    assert (folder / "readme.txt").read_text() == "Terms"
    texts = read_text_set(find_text_set("ag"))
    assert texts.train_texts == ["Wall St. a\\nation", "b c"]
    assert (texts.train_labels.tolist(), texts.test_labels.tolist()) == (["3", "1"], ["4"])
    served({}, sha256="0")
    assert bench("fetch", "ag").out == result.out


@pytest.mark.parametrize(
    ("files", "sha256", "message"),
    [
        ({"ag_news_csv/train.csv": "1,a\n"}, "0" * 64, f"its SHA-256 is .*, expected {'0' * 64}"),
        ({"../train.csv": "1,a\n"}, None, "outside"),
        ({"other/train.csv": "1,a\n"}, None, "ag_news_csv"),
    ],
)
def test_other_archives_are_refused(
    served: Any, tmp_path: Path, files: dict[str, str], sha256: str | None, message: str
) -> None:
    served(files, sha256)
    with pytest.raises((OSError, ValueError, tarfile.TarError), match=message):
        text_sets.fetch_text_set("ag", tmp_path / "home")
    assert not list((tmp_path / "home").iterdir())
    assert not (tmp_path / "train.csv").exists()


def test_a_failed_download_names_the_address(
    bench: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Archive, "url", "http://127.0.0.1:9/ag_news_csv.tgz")
    result = bench("fetch", "ag", "--folder", tmp_path)
    assert result.code == 1
    assert "http://127.0.0.1:9/ag_news_csv.tgz could not be downloaded" in result.err
    assert bench("fetch", "imdb").code == 2


@pytest.mark.parametrize("name", sorted(ARCHIVES))
def test_folders_are_found_by_the_names_of_archives(tmp_path: Path, name: str) -> None:
    archive = ARCHIVES[name].name
    # the later, the more it is preferred
    for form in (name.replace("-", "_"), name, archive, f"{archive}_csv"):
        expected = tmp_path / form if (tmp_path / form).exists() else write_set(tmp_path / form)
        assert find_text_set(name, tmp_path) == expected


def test_folders_are_searched_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.setenv("HASHNLP_DATA", str(tmp_path / "variable"))
    at_home = write_set(tmp_path / "home" / "sklearn_hashnlp_data" / "ag_news_csv")
    assert find_text_set("ag") == at_home
    by_variable = write_set(tmp_path / "variable" / "ag_news")
    assert find_text_set("ag") == by_variable
    with pytest.raises(FileNotFoundError):  # a given folder is the only one searched
        find_text_set("ag", tmp_path / "elsewhere")


def test_the_error_for_a_missing_set_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "yelp").mkdir()  # without its files
    with pytest.raises(
        FileNotFoundError, match=r"HASHNLP_DATA.*python -m benchmarks fetch yelp"
    ) as caught:
        find_text_set("yelp", tmp_path)
    assert str(tmp_path / "yelp_review_full_csv") in str(caught.value)
    with pytest.raises(FileNotFoundError, match="'imdb' was not found") as caught:
        find_text_set("imdb", tmp_path)
    assert "fetch" not in str(caught.value)
