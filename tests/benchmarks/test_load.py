"""Tests of the benchmark of examples beside busy processes, with examples that take no time."""

import importlib
import json
import os

import pytest


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return the benchmark, whose gallery is a folder with two examples."""
    module = importlib.import_module("benchmarks.speed.bench_load")
    for chapter in ("01_texts", "07_larger_than_one_machine"):
        (tmp_path / "examples" / chapter).mkdir(parents=True)
        (tmp_path / "examples" / chapter / "0010_example.py").write_text("import os; os.environ['HASHNLP_QUICK']")
    monkeypatch.setattr(module, "EXAMPLES", tmp_path / "examples")
    return module


def test_examples_are_measured_alone_and_beside_busy_processes(module, tmp_path, monkeypatch, capsys):
    for name in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, "1")
    arguments = ["--part", "examples", "--rounds", "2", "--busy", "1", "--output", str(tmp_path / "load.json")]
    monkeypatch.setattr(module, "LIMIT", 1000)
    module.main(arguments)
    assert "OMP_NUM_THREADS" not in os.environ
    measured = json.loads((tmp_path / "load.json").read_text())["examples"]
    assert list(measured["examples"]) == ["01_texts/0010_example.py"]
    example = measured["examples"]["01_texts/0010_example.py"]
    assert example["ratio"] == example["beside busy processes"]["s"] / example["alone"]["s"]
    assert [len(runs) for runs in example["runs"].values()] == [2, 2]
    assert "01_texts/0010_example.py" in capsys.readouterr().out
    monkeypatch.setattr(module, "LIMIT", 0)
    with pytest.raises(SystemExit, match="More than 0 times as long beside 1 busy processes: 01_texts"):
        module.main([*arguments, "--only", "0010", "--rounds", "1"])


def test_busy_processes_end(module, monkeypatch):
    started = []
    popen = module.subprocess.Popen
    monkeypatch.setattr(module.subprocess, "Popen", lambda *arguments: started.append(popen(*arguments)) or started[-1])
    with module.busy_processes(2):
        assert [process.poll() for process in started] == [None, None]
    assert all(process.poll() is not None for process in started)


@pytest.mark.slow
def test_a_training_step_is_measured_by_size_and_number_of_threads(module, monkeypatch):
    monkeypatch.setattr(module, "SIZES", (8,))
    monkeypatch.setattr(module, "SECONDS", 0.05)
    monkeypatch.setattr(module.os, "cpu_count", lambda: 1)
    (cell,) = module.measure_networks(1, 1)["8"].values()
    assert all(milliseconds > 0 for measured in cell.values() for milliseconds in measured.values())
