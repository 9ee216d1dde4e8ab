"""Mutated texts and models for the kernels: ``python -m tests.fuzz.kernels``.

``make sanitize`` runs it with kernels that check addresses: they end the process where one is out
of bounds.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from tests.native import use_kernels

_SAMPLES = [
    "a fine, funny film. Dull and far too long! <b>x</b> 3.14 don't",
    (
        "Größe ẞ İstanbul ﬁne e\u0301 Σίσυφος 日本語 ไทย 한국 👩🏽‍🔬 "
        "\u202e\u200d\ufeff \x00\x1c\x85\u2028"
    ),
    "the cat sat the dog sat down " * 8,
    "a b " * 200,
    " ",
]


def main() -> None:
    """Run mutated inputs through every kernel that texts and models reach, and print the counts as
    JSON.
    """
    parser = argparse.ArgumentParser(description="Fuzz the kernels.")
    parser.add_argument(
        "--inputs", type=int, default=1000, help="documents and models for each entry point"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of processor time")
    arguments = parser.parse_args()
    result = run(arguments.inputs, arguments.seed, arguments.seconds)
    print(json.dumps(result, indent=2))
    raise SystemExit(bool(result["findings"]))


def run(n_inputs: int, seed: int, seconds: float) -> dict[str, Any]:
    """Return the number of inputs of each entry point and the findings."""
    use_kernels()
    from tests.fuzz.model_readers import read_document
    from tests.fuzz.mutation import Mutator
    from tests.fuzz.test_documents import ENTRIES

    counts: dict[str, int] = {}
    findings: list[str] = []
    mutator = Mutator(seed, [sample.encode() for sample in _SAMPLES])

    def texts() -> list[str]:
        decoded = [
            mutator.next().decode("utf-8", mutator.random.choice(["replace", "surrogateescape"]))
            for _ in range(3)
        ]
        return [text[:3000] for text in decoded]

    def attempt(name: str, function: Any) -> None:
        counts[name] = counts.get(name, 0) + 1
        try:
            with warnings.catch_warnings(action="ignore"):
                function()
        except ValueError:
            pass
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            findings.append(
                f"{name}, input {counts[name]}: {error!r:.200} in {frame.filename}:{frame.lineno}"
            )

    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for index in range(n_inputs):
            for name, entry in ENTRIES.items():
                attempt(name, lambda entry=entry: entry(texts()))
            draw = random.Random(f"{seed} {index}")
            attempt("models", lambda draw=draw: read_document(draw, Path(folder)))
            if time.process_time() - start > seconds or len(findings) > 20:
                break
    documents = 3 * sum(count for name, count in counts.items() if name != "models")
    return {"documents": documents, "calls": counts, "findings": findings}


if __name__ == "__main__":
    main()
