"""The report of a training, kept as JSON in the folder of the model."""

from __future__ import annotations

import json
import platform
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

REPORT_FILE: Final = "training.json"

_PACKAGES: Final = ("sklearn-hashnlp", "scikit-learn", "torch", "skorch", "numpy")


def write_report(folder: Path, report: dict[str, Any]) -> None:
    """Write a report into the folder of a model, with date, versions and digest."""
    from importlib.metadata import version  # takes time to import, and few commands write a report

    document = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in _PACKAGES},
        "model_digest": _digest(folder),
    }
    unfinished = folder / f".{REPORT_FILE}.part"
    unfinished.write_text(
        json.dumps(report | document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    unfinished.replace(folder / REPORT_FILE)


def card_of(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the part of a report for the model card, without paths."""
    card = {"Training data": {"file": Path(report["data"]).name, "texts": report["n_texts"]}}
    validation = report.get("validation")
    if validation is not None:
        others = {
            name: value for name, value in validation.items() if name not in ("data", "n_texts")
        }
        card["Validation"] = {"texts": validation["n_texts"]} | others
    return card | {"Labels": report["labels"]}


def read_report(folder: Path) -> dict[str, Any]:
    """Return the report of the model in a folder; empty if there is none of this model."""
    path = folder / REPORT_FILE
    with suppress(OSError, ValueError, RecursionError):
        # no device, and no link elsewhere
        if path.is_file() and path.resolve().parent == folder.resolve():
            report = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(report, dict) and report.get("model_digest") == _digest(folder):
                return report
    return {}


def _digest(folder: Path) -> str | None:
    digest = json.loads((folder / "parameters.json").read_text(encoding="utf-8")).get("digest")
    return None if digest is None else str(digest)
