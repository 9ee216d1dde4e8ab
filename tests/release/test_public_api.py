"""The public names and signatures are those of the stored list: a change of them is never an
accident.
"""

from __future__ import annotations

import json
from typing import Any

from tests.release.public_api import STORED, public_api


def flat(described: dict[str, Any]) -> dict[str, str]:
    """Return full name -> signature, methods by their own names."""
    result: dict[str, str] = {}
    for name, value in described.items():
        result |= (
            {f"{name}.{key}": text for key, text in value.items()}
            if isinstance(value, dict)
            else {name: value}
        )
    return result


def test_names_and_signatures_are_the_stored_ones() -> None:
    stored, now = flat(json.loads(STORED.read_text(encoding="utf-8"))), flat(public_api())
    changes = [f"removed: {name}{stored[name]}" for name in sorted(stored.keys() - now.keys())]
    changes += [f"new: {name}{now[name]}" for name in sorted(now.keys() - stored.keys())]
    changes += [
        f"changed: {name}{stored[name]}, now {now[name]}"
        for name in sorted(stored.keys() & now.keys())
        if stored[name] != now[name]
    ]
    assert not changes, "\n".join(
        [
            "The public names differ from the stored list. If that is intended, follow "
            "RELEASING.md, add a line to the changelog, and store them: python -m "
            "tests.release.public_api",
            *changes,
        ]
    )
