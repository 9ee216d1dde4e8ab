"""Archives: whole, damaged, of something else, and hostile."""

from __future__ import annotations

from pathlib import Path

import pytest

from sklearn_hashnlp.datasets._remote import unpack_text_set
from tests.file_server import write_archive

BOTH = {"ag_news_csv/train.csv": "1,a\n", "ag_news_csv/test.csv": "2,b\n"}


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
