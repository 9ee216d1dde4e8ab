"""A reader who follows one call opens few files."""

from __future__ import annotations

import pytest

from tests.files_that_run import calls, files_that_run

LIMITS = {
    "TextClassifier.fit": 48,
    "TextClassifier.predict": 19,
    "HsigmoidLanguageModel.fit": 39,
    "SGNNSentenceEncoder.fit": 42,
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_call_runs_few_files(name: str) -> None:
    files = files_that_run(calls()[name])
    assert "text/_documents.py" in files  # each reads texts
    assert len(files) <= LIMITS[name], sorted(files)
