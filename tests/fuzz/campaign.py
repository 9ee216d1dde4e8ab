"""Many inputs for one reader: which were legal, and which were findings."""

from __future__ import annotations

import random
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from tests.fuzz.model_readers import MODEL_READERS
from tests.fuzz.mutation import Mutator
from tests.fuzz.readers import READERS, read_input

NAMES = [*READERS, *MODEL_READERS]
_MAX_FINDINGS = 20


def run(name: str, n_inputs: int, seed: int, folder: Path) -> dict[str, Any]:
    """Let a reader read mutated inputs, and return their number, the legal ones and the findings.

    A finding is any error but a ValueError that names the file; a crash of the process is one, too.
    """
    findings: list[str] = []
    n_legal, start = 0, time.process_time()
    folder.mkdir(exist_ok=True)
    with warnings.catch_warnings(action="error"):
        for index, read in enumerate(_inputs(name, n_inputs, seed, folder)):
            try:
                n_legal += read()
            except Exception as error:
                cause = (
                    error.__cause__
                    if isinstance(error, AssertionError) and error.__cause__
                    else error
                )
                frame = traceback.extract_tb(cause.__traceback__)[-1]
                if len(findings) < _MAX_FINDINGS:
                    findings.append(
                        f"input {index} of seed {seed}: {cause!r:.200} in "
                        f"{frame.filename}:{frame.lineno}"
                    )
    seconds = time.process_time() - start
    return {
        "inputs": n_inputs,
        "legal": n_legal,
        "findings": findings,
        "processor_seconds": round(seconds, 1),
    }


def _inputs(name: str, n_inputs: int, seed: int, folder: Path) -> Any:
    """Yield functions that read one input each."""
    if name in MODEL_READERS:
        for index in range(n_inputs):
            draw = random.Random(f"{seed} {index}")
            yield lambda draw=draw: MODEL_READERS[name](draw, folder)
        return
    reader = READERS[name]
    mutator, path = (
        Mutator(seed, reader.samples, reader.fragments),
        folder / f"input{reader.suffix}",
    )
    for _ in range(n_inputs):
        content = mutator.next()
        yield lambda content=content: read_input(reader, path, content)
