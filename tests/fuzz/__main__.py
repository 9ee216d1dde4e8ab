"""Fuzz every reader of files: ``python -m tests.fuzz``."""

from __future__ import annotations

import argparse
import faulthandler
import json
import tempfile
from pathlib import Path

from benchmarks.runner.run import environment
from tests.fuzz.campaign import NAMES, run

_PACKAGES = ("sklearn-hashnlp", "numpy", "safetensors", "scikit-learn", "torch")


def main() -> None:
    """Fuzz readers, print a line for each, and write the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "readers", nargs="*", choices=[[], *NAMES], metavar="READER", help=f"of {', '.join(NAMES)}"
    )
    parser.add_argument("--inputs", type=int, default=100_000, help="for each reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--output", type=Path, help="JSON file of counts; those of other readers stay"
    )
    arguments = parser.parse_args()
    faulthandler.enable()
    n_findings = 0
    for name in arguments.readers or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            result = run(name, arguments.inputs, arguments.seed, Path(folder) / "inputs")
        print(f"{name}: {result['inputs']:,} inputs, {result['legal']:,} of them legal, ", end="")
        print(
            f"{len(result['findings'])} findings, {result['processor_seconds']:.0f} s", flush=True
        )
        for finding in result["findings"]:
            print(f"    {finding}", flush=True)
        n_findings += len(result["findings"])
        if arguments.output is not None:
            _add(arguments.output, name, result | {"seed": arguments.seed})
    raise SystemExit(n_findings > 0)


def _add(path: Path, name: str, result: dict[str, object]) -> None:
    """Add the counts of one reader to a file."""
    document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    document |= environment(*_PACKAGES)
    document["readers"] = document.get("readers", {}) | {name: result}
    document["inputs"] = sum(one["inputs"] for one in document["readers"].values())
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
