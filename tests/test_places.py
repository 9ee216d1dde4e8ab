"""An idea is known in few places, so that it can be changed in one."""

from __future__ import annotations

import pytest

from tests.places import IDEAS, ROOT, Idea, places

LIMITS = {
    "how much a text says": 10,
    "may a training continue?": 3,
    "a reader of the tables of a saved text model": 2,
    "a cross-validation of the linear model": 1,
}


@pytest.mark.parametrize("idea", IDEAS, ids=lambda idea: idea.name)
def test_an_idea_has_few_places(idea: Idea) -> None:
    found = places(ROOT, idea)
    assert found  # or the patterns do not find it
    assert len(found) <= LIMITS[idea.name], found
