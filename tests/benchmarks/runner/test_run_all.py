"""Many runs: in worker processes, after a kill, with failures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.runner.results_file import read_results
from benchmarks.runner.run import PlannedRun, plan_runs
from benchmarks.runner.run_all import Listener, run_all

HERE = Path(__file__).parents[1]


class EventLog(Listener):
    """Records all events."""

    def __init__(self) -> None:
        self.entries: list[tuple[Any, ...]] = []

    def on_plan(self, run: PlannedRun, previous: Sequence[dict[str, Any]]) -> None:
        self.entries.append(("plan", run.seed, len(previous)))

    def on_start(self, run: PlannedRun) -> None:
        self.entries.append(("start", run.seed))

    def on_log(self, run: PlannedRun, line: str) -> None:
        self.entries.append(("log", run.seed, line))

    def on_progress(self, run: PlannedRun, done: int, total: int) -> None:
        self.entries.append(("progress", run.seed, done, total))

    def on_result(self, run: PlannedRun, result: dict[str, Any]) -> None:
        self.entries.append(("result", run.seed, result["step"]))

    def on_finish(self, run: PlannedRun) -> None:
        self.entries.append(("finish", run.seed))

    def on_failure(self, run: PlannedRun, error: Exception) -> None:
        self.entries.append(("failure", run.seed, str(error)))


def same(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results without what differs from run to run."""
    ignored = {"seconds", "threads", "process"}
    comparable = [
        {key: value for key, value in result.items() if key not in ignored} for result in results
    ]
    return sorted(
        comparable,
        key=lambda result: (result["settings"]["dataset"], result["seed"], result["step"]),
    )


def test_runs_are_executed_one_after_another_with_events(counting: Any, tmp_path: Path) -> None:
    path, log = tmp_path / "found.jsonl", EventLog()
    runs = plan_runs([counting], seeds=(3, 4), quick=True)
    outcome = run_all(runs, output=path, listener=log)
    assert read_results(path) == outcome.results
    assert [(result["seed"], result["step"]) for result in outcome.results] == [
        (3, 0),
        (3, 1),
        (4, 0),
        (4, 1),
    ]
    assert outcome.failures == []
    assert list(tmp_path.iterdir()) == [path]
    assert log.entries[:6] == [
        ("plan", 3, 0),
        ("plan", 4, 0),
        ("start", 3),
        ("log", 3, "counted to 1"),
        ("progress", 3, 1, 2),
        ("result", 3, 0),
    ]
    assert log.entries[-1] == ("finish", 4)


def test_finished_runs_are_not_repeated(counting: Any, tmp_path: Path) -> None:
    path, log = tmp_path / "found.jsonl", EventLog()
    first = run_all(plan_runs([counting], seeds=(0, 1)), output=path)
    lines = path.read_bytes()
    again = run_all(plan_runs([counting], seeds=(1, 0)), output=path, listener=log)
    assert log.entries == [("plan", 1, 4), ("plan", 0, 4)]
    assert path.read_bytes() == lines
    assert again.results == first.results[4:] + first.results[:4]
    more = run_all(plan_runs([counting], seeds=(0,), changes=["size=2"]), output=path)
    assert len(more.results) == 2  # other settings are another run


def test_a_run_resumes_after_any_result(counting: Any, tmp_path: Path) -> None:
    whole = run_all(plan_runs([counting])).results
    lines = [f"{json.dumps(result)}\n" for result in whole]
    for n_previous in range(5):
        path, log = tmp_path / f"{n_previous}.jsonl", EventLog()
        path.write_text(
            "".join(lines[:n_previous]) + (lines[n_previous][:30] if n_previous < 4 else "")
        )
        [run] = plan_runs([counting])
        folder = tmp_path / f"{path.name}.parts" / run.folder_name
        folder.mkdir(parents=True)
        if n_previous:
            (folder / "value").write_text(str(whole[n_previous - 1]["value"]))
        outcome = run_all([run], output=path, listener=log)
        assert log.entries[0] == ("plan", 0, n_previous)
        assert [entry[2] for entry in log.entries if entry[0] == "result"] == list(
            range(n_previous, 4)
        )
        assert same(outcome.results) == same(read_results(path)) == same(whole)
        assert not folder.parent.exists()


def test_workers_give_the_same_results_and_a_failure_stops_no_other_run(
    counting: Any, tmp_path: Path
) -> None:
    path, log = tmp_path / "found.jsonl", EventLog()
    runs = plan_runs([counting], seeds=range(4), datasets=["imdb"], changes=["fails=1", "dies=2"])
    n_threads = (
        max(len(os.sched_getaffinity(0)) // 2, 1) if hasattr(os, "sched_getaffinity") else None
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OMP_NUM_THREADS", raising=False)
        outcome = run_all(runs, output=path, processes=2, listener=log)
    assert same(read_results(path)) == same(outcome.results)
    assert [
        len([result for result in outcome.results if result["seed"] == seed]) for seed in range(4)
    ] == [4, 2, 2, 4]
    (one, error), (other, death) = sorted(outcome.failures, key=lambda failure: failure[0].seed)
    assert (one.seed, str(error), type(error)) == (1, "seed 1 is not wanted", ValueError)
    assert "counting_recipe.py" in error.__notes__[0]
    assert (other.seed, str(death)) == (
        2,
        "The process of the run ended with exit code 7 before the run did.",
    )
    assert {
        ("failure", 1, str(error)),
        ("failure", 2, str(death)),
        ("log", 3, "counted to 4"),
    } <= set(log.entries)
    assert len({result["process"] for result in outcome.results} - {os.getpid()}) == 4
    assert n_threads is None or {result["threads"] for result in outcome.results} == {
        str(n_threads)
    }
    parts = tmp_path / "found.jsonl.parts"
    assert {path.name for path in parts.iterdir()} == {one.folder_name, other.folder_name}

    # In this process the results are the same, and failed runs resume and fail again.
    runs = plan_runs([counting], seeds=(0, 1, 3), datasets=["imdb"], changes=["fails=1", "dies=2"])
    assert same(run_all(runs).results) == [
        result for result in same(outcome.results) if result["seed"] != 2
    ]
    again = run_all(runs, output=path)
    assert [(failed.seed, str(error)) for failed, error in again.failures] == [
        (1, "seed 1 is not wanted")
    ]
    assert len(read_results(path)) == 12


@pytest.mark.parametrize("processes", [1, 2])
def test_a_warning_is_a_line_of_the_log_of_its_run(counting: Any, processes: int) -> None:
    seeds = range(10 * processes, 10 * processes + processes)  # each warning is shown once
    log = EventLog()
    run_all(
        plan_runs([counting], changes=["warns=yes", "size=1"], seeds=seeds),
        processes=processes,
        listener=log,
    )
    expected = [("log", seed, f"Warning: Seed {seed} counts slowly.") for seed in seeds]
    assert sorted(entry for entry in log.entries if "Warning" in str(entry)) == expected


def test_an_error_of_the_listener_stops_all_runs(counting: Any, tmp_path: Path) -> None:
    class Broken(EventLog):
        def on_result(self, run: PlannedRun, result: dict[str, Any]) -> None:
            raise BrokenPipeError

    path, log = tmp_path / "found.jsonl", Broken()
    with pytest.raises(BrokenPipeError):
        run_all(plan_runs([counting], seeds=(0, 1)), output=path, listener=log)
    assert [entry for entry in log.entries if entry[0] in ("start", "failure")] == [("start", 0)]
    assert len(read_results(path)) == 1
    assert len(run_all(plan_runs([counting], seeds=(0, 1)), output=path).results) == 8  # it resumes


def wait_for(what: Any) -> None:
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_the_same_command_resumes_after_kill_9(counting: Any, tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    command = [sys.executable, "-m", "benchmarks", "run", "counting_recipe:COUNTING", "-o", path]
    slow = ["--set", "seconds=0.4", "--set", f"here={tmp_path}", "--seeds", "3", "--processes", "2"]
    environment = os.environ | {"PYTHONPATH": f"{HERE.parents[1]}{os.pathsep}{HERE}"}
    process = subprocess.Popen([*command, *slow], stderr=subprocess.DEVNULL, env=environment)
    wait_for(lambda: path.exists() and len(path.read_bytes().splitlines()) >= 2)
    process.send_signal(signal.SIGKILL)
    process.wait()

    def beats() -> list[int]:
        return [path.stat().st_size for path in sorted(tmp_path.glob("heartbeat-*"))]

    def are_dead() -> bool:
        before = beats()
        time.sleep(0.2)  # within a result that takes longer
        return beats() == before

    assert any(are_dead() for _ in range(4))  # the workers, too, long before they are done
    assert len(beats()) == 2
    n_previous = len(read_results(path))
    assert 2 <= n_previous < 8
    with path.open("a") as file:
        file.write('{"recipe": "coun')  # had it been killed while it wrote

    runs = plan_runs([counting], seeds=range(3))
    outcome = run_all(runs, output=path)
    assert len(path.read_text().splitlines()) == 12
    assert same(read_results(path)) == same(outcome.results) == same(run_all(runs).results)
    assert not Path(f"{path}.parts").exists()


def test_ctrl_c_stops_all_runs(counting: Any, tmp_path: Path) -> None:
    class Interrupting(EventLog):
        def on_log(self, run: PlannedRun, line: str) -> None:
            super().on_log(run, line)
            if line == "counted to 2":
                signal.raise_signal(signal.SIGINT)

    path = tmp_path / "found.jsonl"
    with pytest.raises(KeyboardInterrupt):
        run_all(plan_runs([counting], seeds=(0, 1)), output=path, listener=Interrupting())
    assert [result["step"] for result in read_results(path)] == [0]


def test_a_run_that_fails_without_files_leaves_no_folder(counting: Any, tmp_path: Path) -> None:
    def fail(_settings: Any, _run: Any) -> Any:
        raise ValueError("no such data")

    path = tmp_path / "found.jsonl"
    outcome = run_all(plan_runs([replace(counting, run=fail)], seeds=(0, 1)), output=path)
    assert [str(error) for _, error in outcome.failures] == ["no such data"] * 2
    assert list(tmp_path.iterdir()) == [path]
