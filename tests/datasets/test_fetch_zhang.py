"""Fetching the sets of Zhang, Zhao and LeCun from a server on this machine."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.datasets import _remote, _zhang_sets, fetch_zhang
from sklearn_hashnlp.datasets._zhang_sets import ZHANG_SETS
from tests.datasets.file_server import Server, write_archive

ROWS = {
    "ag": ('"3","Wall St.","a\\nation"\n"1","b","c"\n', '"4","d","e"\n'),
    "yahoo": ('"10","who?","","a ""b""\\nc"\n', '"1","d","e","f"\n'),
    "yelp-polarity": ('"2","good\\n\\nGreat"\n"1","bad"\n', '"1","e"\n'),
}


@pytest.fixture
def serve(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Serve a small archive of a set, with its own SHA-256 in the table."""

    def serve(key: str) -> None:
        known = ZHANG_SETS[key]
        folder = f"{known.archive}_csv"
        members = dict(zip((f"{folder}/train.csv", f"{folder}/test.csv"), ROWS[key], strict=True))
        content = write_archive(tmp_path / "served.tgz", members).read_bytes()
        monkeypatch.setattr(_zhang_sets, "_FAST_AI", server.address)
        monkeypatch.setitem(ZHANG_SETS, key, known._replace(sha256=hashlib.sha256(content).hexdigest()))
        server.serve(content, f"/{folder}.tgz")

    return serve


def test_a_set_is_downloaded_once(server: Server, serve: Any, tmp_path: Path) -> None:
    serve("ag")
    home = tmp_path / "home"
    data = fetch_zhang("ag", data_home=home)
    assert data.data == ["Wall St. a\\nation", "b c"]  # a backslash of AG's News is no escape
    assert data.target.tolist() == ["Business", "World"]
    assert data.target_names == ["World", "Sports", "Business", "Sci/Tech"]
    assert data.filename == str(home / "ag_news_csv")
    assert "2 texts from" in data.DESCR
    assert "120,000 texts to train with" in data.DESCR
    assert "non-commercial" in data.DESCR
    assert [path.name for path in home.iterdir()] == ["ag_news_csv"]  # the archive is deleted
    again = fetch_zhang("ag", data_home=str(home), subset="test", download_if_missing=False, return_X_y=True)
    assert (again[0], again[1].tolist()) == (["d e"], ["Sci/Tech"])
    assert server.requests == ["/ag_news_csv.tgz"]


def test_both_parts_are_in_order_and_line_feeds_are_unescaped(serve: Any, tmp_path: Path) -> None:
    serve("yelp-polarity")
    texts, labels = fetch_zhang("yelp-polarity", data_home=tmp_path, subset="all", return_X_y=True)
    assert texts == ["good\n\nGreat", "bad", "e"]
    assert labels.tolist() == ["positive", "negative", "negative"]
    serve("yahoo")
    texts, labels = fetch_zhang("yahoo", data_home=tmp_path, subset="all", return_X_y=True)
    assert texts == ['who?  a "b"\nc', "d e f"]
    assert labels.tolist() == ["Politics & Government", "Society & Culture"]


def test_a_folder_of_the_user_is_read_as_it_is(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "ag_news"
    folder.mkdir()
    for part in ("train", "test"):
        (folder / f"{part}.csv").write_text("label,text\nSports,Goal!\nWeather,Rain\n")
    data = fetch_zhang("ag", data_home=tmp_path)
    assert (data.data, data.target.tolist()) == (["Goal!", "Rain"], ["Sports", "Weather"])
    assert data.target_names == ["Sports", "Weather"]
    assert server.requests == []


def test_an_archive_of_the_user_is_unpacked_and_kept(server: Server, serve: Any, tmp_path: Path) -> None:
    serve("ag")
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "served.tgz").rename(home / "ag_news_csv.tgz")
    assert len(fetch_zhang("ag", data_home=home, download_if_missing=False).data) == 2
    assert (home / "ag_news_csv.tgz").exists()
    assert server.requests == []


def test_an_incomplete_folder_is_neither_read_nor_overwritten(serve: Any, tmp_path: Path) -> None:
    serve("ag")
    (tmp_path / "ag_news_csv").mkdir()
    (tmp_path / "ag_news_csv" / "train.csv").write_text("mine")
    with pytest.raises(FileExistsError, match=r"ag_news_csv exists, but has no train\.csv and test\.csv"):
        fetch_zhang("ag", data_home=tmp_path)
    assert (tmp_path / "ag_news_csv" / "train.csv").read_text() == "mine"


def test_two_processes_can_fetch_a_set_at_once(serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve("ag")
    unpack = _remote.unpack_text_set

    def twice(archive: Path, folder: Path) -> None:
        unpack(archive, folder)
        unpack(archive, folder)

    monkeypatch.setattr(_remote, "unpack_text_set", twice)
    assert len(fetch_zhang("ag", data_home=tmp_path / "home").data) == 2
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["ag_news_csv"]


def test_an_unknown_class_number_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "amazon").mkdir()
    for part in ("train", "test"):
        (tmp_path / "amazon" / f"{part}.csv").write_text('"1","a","b"\n"6","c","d"\n')
    with pytest.raises(ValueError, match="amazon: expected class numbers from 1 to 5, got 6"):
        fetch_zhang("amazon", data_home=tmp_path)


@pytest.mark.parametrize("key", sorted(ZHANG_SETS))
def test_every_name_reads_its_own_set(key: str, tmp_path: Path) -> None:
    known = ZHANG_SETS[key]
    (tmp_path / known.archive).mkdir()
    for part in ("train", "test"):
        (tmp_path / known.archive / f"{part}.csv").write_text(f'"{len(known.classes)}","a"\n')
    data = fetch_zhang(key, data_home=tmp_path)
    assert data.target.tolist() == [known.classes[-1]]
    assert data.filename == str(tmp_path / known.archive)
    assert known.title in data.DESCR
    assert known.terms in data.DESCR
    assert fetch_zhang(key, data_home=tmp_path, return_X_y=True)[0] == data.data == ["a"]


def test_an_unknown_name_or_subset_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"fetch_zhang: name must be one of 'ag', 'amazon', .*Got 'imdb' instead"):
        fetch_zhang("imdb")
    with pytest.raises(ValueError, match=r"fetch_zhang: subset must be one of 'train', 'test', 'all'\. Got 'dev'"):
        fetch_zhang("ag", subset="dev")


def test_nothing_is_downloaded_without_download_if_missing(server: Server, serve: Any, tmp_path: Path) -> None:
    serve("ag")
    with pytest.raises(OSError, match=r"ag_news_csv\.tgz does not exist, and download_if_missing=False") as caught:
        fetch_zhang("ag", data_home=tmp_path / "home", download_if_missing=False)
    assert server.address in str(caught.value)
    assert server.requests == []
