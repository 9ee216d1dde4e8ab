"""Finding and reading folders with train.csv and test.csv."""

from __future__ import annotations

from pathlib import Path

import pytest

from sklearn_hashnlp.datasets._fetch_zhang import find_text_set, read_text_set
from sklearn_hashnlp.datasets._zhang_sets import ZHANG_SETS


def write_set(folder: Path, train: str, test: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "train.csv").write_text(train, encoding="utf-8")
    (folder / "test.csv").write_text(test, encoding="utf-8")
    return folder


def test_three_columns_without_a_header(tmp_path: Path) -> None:
    folder = write_set(
        tmp_path / "ag",
        '"3","Wall St. ""Bears""","Short-sellers, \\band of cynics\\nare green."\n\n"1","",""\n',
        "4,naïve,a\tb\n",  # as DBpedia writes its numbers
    )
    result = read_text_set(folder)
    assert result.train_texts == ['Wall St. "Bears" Short-sellers, \\band of cynics\\nare green.', " "]
    assert result.train_labels.tolist() == ["3", "1"]
    assert result.train_labels.dtype.kind == "U"
    assert result.test_texts == ["naïve a\tb"]
    assert result.test_labels.tolist() == ["4"]


@pytest.mark.parametrize("n_columns", [2, 3, 4])
def test_any_number_of_text_columns_is_joined_by_spaces(tmp_path: Path, n_columns: int) -> None:
    words = ["one", "two, too", "three"][: n_columns - 1]
    row = ",".join(['"10"', *(f'"{word}"' for word in words)]) + "\n"
    result = read_text_set(write_set(tmp_path / "set", row * 3, row))
    assert result.train_texts == [" ".join(words)] * 3
    assert result.test_labels.tolist() == ["10"]


def test_a_header_names_the_columns(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "imdb", "text,label\nBad!,neg\n", 'label,text\npos,"1,2"\n')
    result = read_text_set(str(folder))
    assert (result.train_texts, result.train_labels.tolist()) == (["Bad!"], ["neg"])
    assert (result.test_texts, result.test_labels.tolist()) == (["1,2"], ["pos"])


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ('"1","a","b"\n"2","a"\n', r"train\.csv, line 2: expected 3 fields as in the first row, got 2\."),
        ('"1","a\nb"\n"World","a"\n', r"line 3: expected a class number first, .*got 'World'"),
        ('"1"\n', "line 1: expected a class number and a text, got one field"),
        ('"1","a"\n"2","b', r"line 2: the row that begins here has invalid quotes"),
        ("a,b\n1,c\n", "no column has a usual name of a text column"),
        ("", "expected labeled texts, got a file without rows"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, train: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_text_set(write_set(tmp_path / "set", train, '"1","a"\n'))


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", '"1","a"\n', "")
    (folder / "test.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"test\.csv does not exist; expected a folder with train\.csv and"):
        read_text_set(folder)


@pytest.mark.parametrize("name", sorted(ZHANG_SETS))
def test_folders_are_found_by_the_names_of_archives(tmp_path: Path, name: str) -> None:
    archive = ZHANG_SETS[name].archive
    for form in (name.replace("-", "_"), name, archive, f"{archive}_csv"):  # the later, the more it is preferred
        expected = write_set(tmp_path / form, "", "") if not (tmp_path / form).exists() else tmp_path / form
        assert find_text_set(name, tmp_path) == expected


def test_folders_are_searched_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.setenv("HASHNLP_DATA", str(tmp_path / "variable"))
    at_home = write_set(tmp_path / "home" / "sklearn_hashnlp_data" / "ag_news_csv", "", "")
    assert find_text_set("ag") == at_home
    by_variable = write_set(tmp_path / "variable" / "ag_news", "", "")
    assert find_text_set("ag") == by_variable
    monkeypatch.delenv("HASHNLP_DATA")
    assert find_text_set("ag") == at_home
    with pytest.raises(FileNotFoundError):  # a given folder is the only one searched
        find_text_set("ag", tmp_path / "elsewhere")


def test_the_error_for_a_missing_set_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "yelp").mkdir()  # without its files
    with pytest.raises(FileNotFoundError) as caught:
        find_text_set("yelp", tmp_path)
    message = str(caught.value)
    assert str(tmp_path / "yelp_review_full_csv") in message
    assert "HASHNLP_DATA" in message
    assert "fetch_zhang('yelp')" in message
    with pytest.raises(FileNotFoundError, match="'imdb' was not found") as caught:
        find_text_set("imdb", tmp_path)
    assert "fetch" not in str(caught.value)
