"""Mutated files: each reader gives a result or a ValueError that names the file; ``make fuzz`` reads many more."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.campaign import NAMES, run
from tests.fuzz.mutation import JSON_VALUES, Mutator, mutate_json
from tests.fuzz.readers import READERS, Reader, read_input

_QUICK = {name: 40 if "document" in name else 80 for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_mutated_files_are_read_or_refused_by_name(name: str, tmp_path: Path) -> None:
    result = run(name, _QUICK[name], 0, tmp_path / "inputs")
    assert result["findings"] == []
    assert result["inputs"] == _QUICK[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_many_mutated_files(name: str, tmp_path: Path) -> None:
    assert run(name, 20_000, 1, tmp_path / "inputs")["findings"] == []


@pytest.mark.parametrize("name", READERS)
def test_samples_are_legal(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    path = tmp_path / f"input{reader.suffix}"
    assert all(read_input(reader, path, content) for content in reader.samples)


def test_other_errors_are_findings(tmp_path: Path) -> None:
    """This is how a test fails that finds something."""

    def read(path: Path) -> object:
        content = path.read_bytes()
        if b"\xff" in content:
            raise ValueError("bad")  # without the name of the file
        return content[3]  # an IndexError for short ones

    reader = Reader(read, ".txt", [b"abcdef"], [])
    path = tmp_path / "input.txt"
    assert read_input(reader, path, b"abcdef")
    with pytest.raises(IndexError):
        read_input(reader, path, b"")
    with pytest.raises(AssertionError, match="no error of this reader"):
        read_input(reader, path, b"\xff")


def test_mutations_depend_on_the_seed_alone() -> None:
    samples = [b"abc,def\n1,2\n", b"{}"]
    first, second = Mutator(3, samples), Mutator(3, samples)
    inputs = [first.next() for _ in range(200)]
    assert inputs == [second.next() for _ in range(200)]
    assert len(set(inputs)) > 100
    value = {"a": [1, {"b": 2}], "c": "d"}
    changed = [mutate_json(random.Random(seed), value) for seed in range(50)]
    assert value == {"a": [1, {"b": 2}], "c": "d"}
    assert sum(one != value for one in changed) > 30
    assert any(one["a"] in JSON_VALUES for one in changed if isinstance(one, dict) and "a" in one)
