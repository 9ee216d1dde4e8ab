"""Where data sets are kept."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from sklearn_hashnlp.datasets._remote import data_home, written_in


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
