"""Downloads from a server on this machine, the folder of data sets, and unpacking archives."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import socket
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import Request

import pytest

from sklearn_hashnlp.datasets import _remote
from sklearn_hashnlp.datasets._remote import RemoteFile, data_home, fetch_remote, unpack_text_set
from tests.datasets.file_server import Server, write_archive

CONTENT = bytes(range(256)) * 12_000  # of several chunks
SHA256 = hashlib.sha256(CONTENT).hexdigest()
BOTH = {"ag_news_csv/train.csv": "1,a\n", "ag_news_csv/test.csv": "2,b\n"}


def remote(server: Server) -> RemoteFile:
    return RemoteFile("file.bin", f"{server.address}/file.bin", SHA256)


def test_a_file_is_downloaded_whole_and_once(server: Server, tmp_path: Path) -> None:
    server.serve(CONTENT)
    moves: list[tuple[int, int]] = []
    folder = tmp_path / "deep" / "down"
    path = fetch_remote(remote(server), folder, progress=lambda *move: moves.append(move))
    assert path == folder / "file.bin"
    assert path.read_bytes() == CONTENT
    assert [entry.name for entry in folder.iterdir()] == ["file.bin"]
    assert moves[-1] == (len(CONTENT), len(CONTENT))
    assert len(moves) > 1
    assert fetch_remote(remote(server), folder) == path
    assert server.requests == ["/file.bin"]


def test_a_file_with_another_sha256_than_the_published_one_is_refused(server: Server, tmp_path: Path) -> None:
    server.serve(CONTENT[::-1])
    with pytest.raises(ValueError, match=rf"The file from http.* expected {SHA256} \(published\).*It was not kept"):
        fetch_remote(remote(server), tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file.bin").write_bytes(CONTENT[:-1])  # as when it was put there by hand
    with pytest.raises(ValueError, match=r"The file .*file\.bin is not the expected one.* Delete it\."):
        fetch_remote(remote(server), tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT[:-1]


def test_a_connection_closed_early_leaves_no_file(server: Server, tmp_path: Path) -> None:
    server.serve(CONTENT[:1000], length=len(CONTENT))
    with pytest.raises(ConnectionError, match=r"closed after 1,000 of 3,072,000 bytes\. Try again\."):
        fetch_remote(remote(server), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_no_file(server: Server, tmp_path: Path) -> None:
    server.serve(CONTENT)
    names = []

    def interrupt(n_bytes: int, n_expected: int) -> None:
        names.extend(entry.name for entry in tmp_path.iterdir())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_remote(remote(server), tmp_path, progress=interrupt)
    assert [name.startswith("file.bin.") and name.endswith(".part") for name in names] == [True]
    assert list(tmp_path.iterdir()) == []


def test_a_failed_connection_and_an_http_error_say_what_to_do(tmp_path: Path, server: Server) -> None:
    by_hand = rf"Or download {server.address}/file\.bin by other means and save it as {tmp_path / 'file.bin'}\."
    server.answer(404)
    with pytest.raises(ConnectionError, match=rf"(?s)answered 404 Not Found for http.*{by_hand}"):
        fetch_remote(remote(server), tmp_path)
    with socket.socket() as unused:  # a port that is bound, without a listener
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/file.bin"
        with pytest.raises(ConnectionError, match=r"could not be downloaded \(.*\)\. Check the internet connection"):
            fetch_remote(RemoteFile("file.bin", address, SHA256), tmp_path)


def test_a_silent_server_times_out(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_remote, "_TIMEOUT_SECONDS", 0.1)
    enough = threading.Event()
    server.answers["/file.bin"] = lambda handler: enough.wait(10)
    with pytest.raises(ConnectionError, match="timed out"):
        fetch_remote(remote(server), tmp_path)
    enough.set()


@pytest.mark.parametrize("page", [b"\n <!DOCTYPE html><p>Log in", b"<HTML>"])
def test_a_web_page_instead_of_the_file_is_an_error(server: Server, tmp_path: Path, page: bytes) -> None:
    server.serve(page)
    with pytest.raises(ValueError, match="returned a web page instead of the file"):
        fetch_remote(remote(server), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("has_length", [True, False], ids=["with Content-Length", "without"])
def test_no_more_bytes_are_read_than_expected(server: Server, tmp_path: Path, has_length: bool) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        if has_length:
            handler.send_header("Content-Length", str(10**12))
        handler.end_headers()
        with contextlib.suppress(ConnectionError):  # it never stops; the client does
            while True:
                handler.wfile.write(CONTENT)

    server.answers["/file.bin"] = answer
    with pytest.raises(ValueError, match=r"returned more than the expected 3,072,000 bytes.*Or download http"):
        fetch_remote(remote(server)._replace(n_bytes=len(CONTENT)), tmp_path)
    assert list(tmp_path.iterdir()) == []
    server.serve(CONTENT)
    assert fetch_remote(remote(server)._replace(n_bytes=len(CONTENT)), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("target", ["file:///etc/hostname", "ftp://127.0.0.1/file.bin", "data:text/plain,hello"])
def test_redirects_to_other_schemes_are_refused(server: Server, tmp_path: Path, target: str) -> None:
    server.answer(302, Location=target)
    with pytest.raises(
        (ValueError, ConnectionError), match=r"redirects to .*, which is refused|answered 302|not allowed"
    ):
        fetch_remote(remote(server), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_redirects_from_https_to_http_are_refused() -> None:
    redirects = _remote._SafeRedirects()
    request = Request("https://127.0.0.1/file.bin")
    with pytest.raises(ValueError, match="which is refused: expected https"):
        redirects.redirect_request(request, None, 302, "Found", {}, "http://127.0.0.1/file.bin")  # type: ignore[arg-type]


@pytest.mark.parametrize(("code", "what"), [(errno.ENOSPC, "disk is full"), (errno.EACCES, "is not writable")])
def test_a_full_disk_and_a_read_only_folder_say_what_to_do(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, what: str
) -> None:
    server.serve(CONTENT)

    def refuse(chunk: bytes) -> None:
        raise OSError(code, "No more")

    def opened(path: Path, mode: str) -> Any:
        file = opens(path, mode)
        return contextlib.closing(SimpleNamespace(write=refuse, close=file.close)) if mode == "xb" else file

    opens = Path.open
    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(OSError, match=f"file.bin cannot be saved in .*{what}.*data_home") as caught:
        fetch_remote(remote(server), tmp_path)
    assert caught.value.errno == code
    assert list(tmp_path.iterdir()) == []


def test_only_the_files_of_a_set_are_extracted(tmp_path: Path) -> None:
    more = {"ag_news_csv/classes.txt": "A\nB\n", "ag_news_csv/._train.csv": "shadow", "ag_news_csv/run.sh": "rm"}
    folder = tmp_path / "ag_news_csv"
    unpack_text_set(write_archive(tmp_path / "a.tgz", BOTH | more), folder)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "train.csv": "1,a\n",
        "test.csv": "2,b\n",
        "classes.txt": "A\nB\n",
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tgz", "ag_news_csv"]
    (tmp_path / "other").mkdir()
    assert folder.stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("name", ["../train.csv", "ag_news_csv/../../train.csv", "/tmp/train.csv", "../../evil"])
def test_a_member_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    archive = write_archive(tmp_path / "a.tgz", BOTH | {name: "3,evil\n"})
    with pytest.raises(ValueError, match=r"a\.tgz is refused: its member .* points outside the folder"):
        unpack_text_set(archive, home / "ag_news_csv")
    assert list(home.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tgz", "home"]


def test_a_link_is_not_extracted(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("1,secret\n")
    members = {"s/test.csv": "2,b\n"}
    archive = write_archive(tmp_path / "a.tgz", members, ("s/train.csv", str(tmp_path / "secret")))
    with pytest.raises(ValueError, match=r"does not contain train\.csv"):
        unpack_text_set(archive, tmp_path / "s")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("content", [b"", b"no archive", "half", "flipped"])
def test_a_damaged_archive_leaves_no_folder(tmp_path: Path, content: bytes | str) -> None:
    archive = write_archive(tmp_path / "a.tgz", dict.fromkeys(BOTH, "1,some text\n" * 50000))
    whole = archive.read_bytes()
    damaged = {"half": whole[: len(whole) // 2], "flipped": whole[:60] + bytes([whole[60] ^ 0xFF]) + whole[61:]}
    archive.write_bytes(damaged[content] if isinstance(content, str) else content)
    with pytest.raises(
        ValueError, match=r"a\.tgz is damaged, or not a tar archive|does not contain train\.csv and test\.csv"
    ):
        unpack_text_set(archive, tmp_path / "set")
    assert [path.name for path in tmp_path.iterdir()] == ["a.tgz"]


def test_an_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "train.csv").write_text("mine")
    with pytest.raises(OSError, match="set"):
        unpack_text_set(write_archive(tmp_path / "a.tgz", BOTH), folder)
    assert [path.read_text() for path in folder.iterdir()] == ["mine"]


def test_redirects_are_followed(server: Server, tmp_path: Path) -> None:
    server.answer(302, Location=f"{server.address}/there")
    server.serve(CONTENT, "/there")
    assert fetch_remote(remote(server), tmp_path).read_bytes() == CONTENT


def test_the_data_home_is_the_argument_the_variable_or_a_folder_in_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("USERPROFILE", "/home/somebody")
    monkeypatch.setenv("HASHNLP_DATA", "~/variable")
    assert data_home("~/mine") == Path("/home/somebody/mine")
    assert data_home() == Path("/home/somebody/variable")
    monkeypatch.setenv("HASHNLP_DATA", "")
    assert data_home() == Path("/home/somebody/sklearn_hashnlp_data")
