"""Tests of the stored results: each names its date, its code, the machine and the versions."""

import json
import re

import pytest

from tests.benchmarks.labeled_rows import FOLDER

RESULTS = FOLDER / "results"


def measurements(path):
    """Yield the parts of a file that were measured together."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        yield from map(json.loads, text.splitlines())
    else:
        result = json.loads(text)
        yield from [result] if "date" in result else result.values()


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json*")), ids=lambda path: path.name)
def test_a_result_names_its_date_code_machine_and_versions(path):
    for measured in measurements(path):
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", measured["date"])
        assert re.fullmatch(r"[0-9a-f]{7,} of 20\d\d-\d\d-\d\d \d\d:\d\d(, changed)?", measured["commit"])
        assert measured.get("changed since", "something")
        assert measured["machine"]["processor"]
        assert measured["machine"]["cores"] > 0
        assert "python" in measured["versions"]
        assert "sklearn-hashnlp" in measured["versions"]
