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
    """Write a report beside a saved model, with the date, the versions and the digest of that model."""
    from importlib.metadata import version  # takes time to import, and few commands write a report

    document = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        "model_digest": _digest(folder),
    }
    unfinished = folder / f".{REPORT_FILE}.part"
    unfinished.write_text(json.dumps(report | document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(folder / REPORT_FILE)


def read_report(folder: Path) -> dict[str, Any]:
    """Return the report of the model in a folder; empty if there is none, or only that of an older model."""
    with suppress(OSError, ValueError):
        report = json.loads((folder / REPORT_FILE).read_text(encoding="utf-8"))
        if isinstance(report, dict) and report.get("model_digest") == _digest(folder):
            return report
    return {}


def _digest(folder: Path) -> str | None:
    from sklearn_hashnlp.persistence._folder_files import PARAMETERS_FILE

    document = json.loads((folder / PARAMETERS_FILE).read_text(encoding="utf-8"))
    return str(document["digest"]) if "digest" in document else None
