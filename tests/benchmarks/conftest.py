"""Fixtures of the tests of benchmarks: the scripts can be imported, and a small data set is on the disk."""

import pytest

from tests.benchmarks.labeled_rows import FILMS, FOLDER


@pytest.fixture(autouse=True)
def _benchmarks_on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)


@pytest.fixture
def data(tmp_path):
    """Write a folder with the data set trec: sixty training rows and twelve test rows."""
    (tmp_path / "trec").mkdir()
    for file, times in (("train.csv", 15), ("test.csv", 3)):
        rows = [f'{label},"{text} {i}"' for i in range(times) for label, texts in FILMS.items() for text in texts]
        (tmp_path / "trec" / file).write_text("label,text\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path
