"""Downloads from a server on this machine, the folder of data sets, and unpacking archives."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import socket
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.request import Request

import pytest

from sklearn_hashnlp.datasets import _remote
from sklearn_hashnlp.datasets._remote import RemoteFile, data_home, obtain, unpack_text_set, written_in
from tests.file_server import Server, write_archive

CONTENT = bytes(range(256)) * 12_000  # of several chunks
SHA256 = hashlib.sha256(CONTENT).hexdigest()
BOTH = {"ag_news_csv/train.csv": "1,a\n", "ag_news_csv/test.csv": "2,b\n"}


def remote(server: Server, sha256: str | None = SHA256) -> RemoteFile:
    return RemoteFile("file.bin", f"{server.address}/file.bin", sha256)


def test_a_file_comes_whole_and_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
    server.gives(CONTENT)
    moves: list[tuple[int, int]] = []
    folder = tmp_path / "deep" / "down"
    path = obtain(remote(server), folder, progress=lambda *move: moves.append(move))
    assert path == folder / "file.bin"
    assert path.read_bytes() == CONTENT
    assert [found.name for found in folder.iterdir()] == ["file.bin"]
    assert moves[-1] == (len(CONTENT), len(CONTENT))
    assert len(moves) > 1
    assert obtain(remote(server), folder) == path
    assert server.asked == ["/file.bin"]


def test_the_file_is_for_whom_every_other_new_file_is(server: Server, tmp_path: Path) -> None:
    server.gives(CONTENT)
    path = obtain(remote(server), tmp_path)
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_the_first_download_is_recorded_and_later_ones_are_held_to_it(server: Server, tmp_path: Path) -> None:
    server.gives(CONTENT)
    path = obtain(remote(server, None), tmp_path)
    record = tmp_path / "file.bin.sha256"
    assert record.read_text() == f"{SHA256}  file.bin\n"
    path.unlink()
    assert obtain(remote(server, None), tmp_path).read_bytes() == CONTENT  # the same file is as good
    path.unlink()
    server.gives(CONTENT + b"!")
    with pytest.raises(ValueError, match="is not the expected file") as caught:
        obtain(remote(server, None), tmp_path)
    for told in (SHA256, hashlib.sha256(CONTENT + b"!").hexdigest(), str(record), server.address):
        assert told in str(caught.value)
    assert [found.name for found in tmp_path.iterdir()] == ["file.bin.sha256"]
    record.unlink()  # as the message says
    assert obtain(remote(server, None), tmp_path).read_bytes() == CONTENT + b"!"


def test_a_file_without_a_record_gets_one(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(CONTENT)
    obtain(remote(server, None), tmp_path, download=False)
    assert (tmp_path / "file.bin.sha256").read_text().startswith(SHA256)
    assert server.asked == []


def test_a_damaged_record_is_named(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(CONTENT)
    (tmp_path / "file.bin.sha256").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"file\.bin\.sha256 is damaged: expected a SHA-256"):
        obtain(remote(server, None), tmp_path)


def test_another_file_than_the_published_one_is_refused(server: Server, tmp_path: Path) -> None:
    server.gives(CONTENT[::-1])
    with pytest.raises(
        ValueError, match=rf"What came from http.* expected {SHA256} \(as published\).*Nothing was kept"
    ):
        obtain(remote(server), tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file.bin").write_bytes(CONTENT[:-1])  # as when it was put there by hand
    with pytest.raises(ValueError, match=r"The file .*file\.bin is not the expected file.* Delete it\."):
        obtain(remote(server), tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT[:-1]


def test_a_connection_that_ends_early_leaves_nothing(server: Server, tmp_path: Path) -> None:
    server.gives(CONTENT[:1000], length=len(CONTENT))
    with pytest.raises(ConnectionError, match=r"ended after 1,000 of 3,072,000 bytes\. Try again\."):
        obtain(remote(server, None), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_nothing(server: Server, tmp_path: Path) -> None:
    server.gives(CONTENT)
    there = []

    def interrupt(n_bytes: int, n_expected: int) -> None:
        there.extend(found.name for found in tmp_path.iterdir())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        obtain(remote(server), tmp_path, progress=interrupt)
    assert [name.startswith("file.bin.") and name.endswith(".part") for name in there] == [True]
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_tells_the_way_by_hand(server: Server, tmp_path: Path) -> None:
    server.says(404)
    with pytest.raises(ConnectionError, match=r"refuses http.*: 404 Not Found") as caught:
        obtain(remote(server), tmp_path)
    assert f"Or fetch {server.address}/file.bin by other means and put it at {tmp_path / 'file.bin'}." in str(
        caught.value
    )


def test_no_connection_tells_what_to_do(tmp_path: Path, server: Server) -> None:
    with socket.socket() as nobody:  # a port that is taken, and where nobody listens
        nobody.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}/file.bin"
        with pytest.raises(
            ConnectionError, match=r"could not be downloaded \(.*\)\. Is this machine connected"
        ) as caught:
            obtain(RemoteFile("file.bin", address, SHA256), tmp_path)
    assert f"put it at {tmp_path / 'file.bin'}" in str(caught.value)


def test_silence_does_not_last_for_ever(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_remote, "_SECONDS_OF_SILENCE", 0.1)
    enough = threading.Event()
    server.answers["/file.bin"] = lambda handler: enough.wait(10)
    with pytest.raises(ConnectionError, match="timed out"):
        obtain(remote(server), tmp_path)
    enough.set()


@pytest.mark.parametrize("page", [b"\n <!DOCTYPE html><p>Log in", b"<HTML>"])
def test_a_web_page_is_no_file(server: Server, tmp_path: Path, page: bytes) -> None:
    server.gives(page)
    with pytest.raises(ValueError, match="gave a web page instead of the file"):
        obtain(remote(server, None), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("told", [True, False], ids=["length told", "length not told"])
def test_no_more_is_taken_than_the_file_has(server: Server, tmp_path: Path, told: bool) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        if told:
            handler.send_header("Content-Length", str(10**12))
        handler.end_headers()
        with contextlib.suppress(ConnectionError):  # it goes on and on; the other side does not
            while True:
                handler.wfile.write(CONTENT)

    server.answers["/file.bin"] = answer
    with pytest.raises(ValueError, match=r"gives more than the 3,072,000 bytes that the file has.*Or fetch http"):
        obtain(remote(server)._replace(n_bytes=len(CONTENT)), tmp_path)
    assert list(tmp_path.iterdir()) == []
    server.gives(CONTENT)
    assert obtain(remote(server)._replace(n_bytes=len(CONTENT)), tmp_path).read_bytes() == CONTENT


def test_a_server_may_lead_elsewhere_on_the_web(server: Server, tmp_path: Path) -> None:
    server.says(302, Location=f"{server.address}/there")
    server.gives(CONTENT, "/there")
    assert obtain(remote(server), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("place", ["file:///etc/hostname", "ftp://127.0.0.1/file.bin", "data:text/plain,hello"])
def test_a_server_may_not_lead_off_the_web(server: Server, tmp_path: Path, place: str) -> None:
    server.says(302, Location=place)
    with pytest.raises((ValueError, ConnectionError), match=r"leads to .*, which is refused|refuses http|not allowed"):
        obtain(remote(server, None), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_encrypted_connection_stays_one() -> None:
    redirects = _remote._OnlyOnTheWeb()
    request = Request("https://127.0.0.1/file.bin")
    with pytest.raises(ValueError, match="which is refused: expected https"):
        redirects.redirect_request(request, None, 302, "Found", {}, "http://127.0.0.1/file.bin")  # type: ignore[arg-type]


def test_nothing_is_downloaded_where_it_shall_not_be(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with pytest.raises(
        FileNotFoundError, match=r"shall not be downloaded \(download_if_missing=False\)\. Or fetch http"
    ):
        obtain(remote(server), folder, download=False)
    assert server.asked == []
    assert not folder.exists()


@pytest.mark.parametrize(("code", "what"), [(errno.ENOSPC, "disk is full"), (errno.EACCES, "must not be written")])
def test_a_disk_that_takes_nothing_is_named(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, what: str
) -> None:
    server.gives(CONTENT)

    class Full:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, chunk: bytes) -> None:
            raise OSError(code, "No more")

    opened = Path.open
    monkeypatch.setattr(
        Path, "open", lambda path, mode: Full(opened(path, mode)) if mode == "xb" else opened(path, mode)
    )
    with pytest.raises(OSError, match=f"file.bin cannot be saved in .*{what}.*data_home") as caught:
        obtain(remote(server), tmp_path)
    assert caught.value.errno == code
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_the_users_choice_the_variables_or_in_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("USERPROFILE", "/home/somebody")
    monkeypatch.setenv("HASHNLP_DATA", "~/variable")
    assert data_home("~/mine") == Path("/home/somebody/mine")
    assert data_home() == Path("/home/somebody/variable")
    monkeypatch.setenv("HASHNLP_DATA", "")
    assert data_home() == Path("/home/somebody/sklearn_hashnlp_data")


def test_other_errors_pass() -> None:
    with pytest.raises(ConnectionError, match=r"^gone$"), written_in(Path("folder"), "name"):
        raise ConnectionError("gone")
    message = r"name cannot be saved in folder: .* \(Read-only\).*data_home.*HASHNLP_DATA"
    with pytest.raises(OSError, match=message), written_in(Path("folder"), "name"):
        raise OSError(errno.EROFS, "Read-only")


def test_the_files_of_a_set_are_taken(tmp_path: Path) -> None:
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
def test_a_member_that_leads_out_of_the_archive_is_refused(tmp_path: Path, name: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    archive = write_archive(tmp_path / "a.tgz", BOTH | {name: "3,evil\n"})
    with pytest.raises(ValueError, match=r"a\.tgz is refused: its member .* leads out of the folder"):
        unpack_text_set(archive, home / "ag_news_csv")
    assert list(home.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tgz", "home"]


def test_a_link_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("1,secret\n")
    members = {"s/test.csv": "2,b\n"}
    archive = write_archive(tmp_path / "a.tgz", members, ("s/train.csv", str(tmp_path / "secret")))
    with pytest.raises(ValueError, match=r"has no train\.csv in it"):
        unpack_text_set(archive, tmp_path / "s")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("content", [b"", b"no archive", "half", "flipped"])
def test_a_damaged_archive_leaves_nothing(tmp_path: Path, content: bytes | str) -> None:
    archive = write_archive(tmp_path / "a.tgz", dict.fromkeys(BOTH, "1,some text\n" * 50000))
    whole = archive.read_bytes()
    damaged = {"half": whole[: len(whole) // 2], "flipped": whole[:60] + bytes([whole[60] ^ 0xFF]) + whole[61:]}
    archive.write_bytes(damaged[content] if isinstance(content, str) else content)
    with pytest.raises(ValueError, match=r"a\.tgz is damaged, or no tar archive|has no train\.csv and no test\.csv"):
        unpack_text_set(archive, tmp_path / "set")
    assert [path.name for path in tmp_path.iterdir()] == ["a.tgz"]


def test_an_archive_of_something_else_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has no train\.csv and no test\.csv in it"):
        unpack_text_set(write_archive(tmp_path / "a.tgz", {"x.csv": ""}), tmp_path / "set")


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "train.csv").write_text("mine")
    with pytest.raises(OSError, match="set"):
        unpack_text_set(write_archive(tmp_path / "a.tgz", BOTH), folder)
    assert [path.read_text() for path in folder.iterdir()] == ["mine"]
