"""Names of files to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from sklearn_hashnlp.cli._reading import check_text_file


@pytest.mark.parametrize("text", ["the company said", "the company said " * 50])
def test_a_text_instead_of_a_file_name_is_an_error(text: str) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"There is no file 'the company said.*pipe it: echo TEXT"
    ):
        check_text_file(Path(text))


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^nothing\.txt does not exist\.$"):
        check_text_file(Path("nothing.txt"))
    with pytest.raises(IsADirectoryError, match="is a folder; expected a text file"):
        check_text_file(tmp_path)
    check_text_file(Path(__file__))
    check_text_file(Path("-"))
    check_text_file(None)
