"""Fuzz one reader with atheris: ``python -m tests.fuzz.with_atheris READER -runs=100000``.

Atheris chooses inputs by the lines of Python that they reach. It is no dependency: ``pip install atheris``. Inputs come
from our own mutator and from its own.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

_READERS = ["sklearn_hashnlp.datasets", "sklearn_hashnlp.persistence", "sklearn_hashnlp.language._arpa", "csv", "json"]


def main() -> None:
    """Fuzz the reader that the first argument names; the others are those of libFuzzer."""
    import atheris

    import sklearn_hashnlp.kernels.ngrams._trie  # noqa: F401 - numba cannot compile what is instrumented

    with atheris.instrument_imports(include=_READERS):
        from tests.fuzz.mutation import Mutator
        from tests.fuzz.readers import READERS, read_input

    name, *options = sys.argv[1:]
    reader = READERS[name]
    folder = Path(tempfile.mkdtemp())
    path = folder / f"input{reader.suffix}"
    (folder / "corpus").mkdir()
    for index, sample in enumerate(reader.samples):
        (folder / "corpus" / str(index)).write_bytes(sample)
    mutator = Mutator(0, reader.samples, reader.fragments)

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        mutator.random.seed(seed)
        if seed % 2:
            return bytes(atheris.Mutate(data, max_size))
        return mutator.mutate(data)[:max_size]

    def read(data: bytes) -> None:
        with warnings.catch_warnings(action="error"):
            read_input(reader, path, data)

    arguments = [sys.argv[0], *options, str(folder / "corpus")]
    atheris.Setup(arguments, read, custom_mutator=mutate, internal_libfuzzer=True)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
