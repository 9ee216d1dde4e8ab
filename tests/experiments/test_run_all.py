"""Many runs: in several processes, after a kill, with one that fails."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.experiments._results_file import read_results
from sklearn_hashnlp.experiments._run import PlannedRun, plan_runs
from sklearn_hashnlp.experiments._run_all import Listener, run_all

HERE = Path(__file__).parent


class Diary(Listener):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.entries: list[tuple[Any, ...]] = []

    def planned(self, run: PlannedRun, known: Sequence[dict[str, Any]]) -> None:
        self.entries.append(("planned", run.seed, len(known)))

    def began(self, run: PlannedRun) -> None:
        self.entries.append(("began", run.seed))

    def told(self, run: PlannedRun, line: str) -> None:
        self.entries.append(("told", run.seed, line))

    def moved(self, run: PlannedRun, done: int, total: int) -> None:
        self.entries.append(("moved", run.seed, done, total))

    def found(self, run: PlannedRun, result: dict[str, Any]) -> None:
        self.entries.append(("found", run.seed, result["step"]))

    def finished(self, run: PlannedRun) -> None:
        self.entries.append(("finished", run.seed))

    def failed(self, run: PlannedRun, error: Exception) -> None:
        self.entries.append(("failed", run.seed, str(error)))


def same(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What must not differ from one time to another."""
    apart = {"seconds", "threads", "process"}
    found = [{key: value for key, value in result.items() if key not in apart} for result in results]
    return sorted(found, key=lambda result: (result["settings"]["dataset"], result["seed"], result["step"]))


def test_runs_are_carried_out_one_after_another_and_told(counting: Any, tmp_path: Path) -> None:
    path, diary = tmp_path / "found.jsonl", Diary()
    runs = plan_runs([counting], seeds=(3, 4), quick=True)
    outcome = run_all(runs, output=path, listener=diary)
    assert read_results(path) == outcome.results
    assert [(result["seed"], result["step"]) for result in outcome.results] == [(3, 0), (3, 1), (4, 0), (4, 1)]
    assert outcome.failures == []
    assert list(tmp_path.iterdir()) == [path]
    assert diary.entries[:6] == [
        ("planned", 3, 0),
        ("planned", 4, 0),
        ("began", 3),
        ("told", 3, "counted to 1"),
        ("moved", 3, 1, 2),
        ("found", 3, 0),
    ]
    assert diary.entries[-1] == ("finished", 4)


def test_what_is_finished_is_not_run_again(counting: Any, tmp_path: Path) -> None:
    path, diary = tmp_path / "found.jsonl", Diary()
    first = run_all(plan_runs([counting], seeds=(0, 1)), output=path)
    lines = path.read_bytes()
    again = run_all(plan_runs([counting], seeds=(1, 0)), output=path, listener=diary)
    assert diary.entries == [("planned", 1, 4), ("planned", 0, 4)]
    assert path.read_bytes() == lines
    assert again.results == first.results[4:] + first.results[:4]
    more = run_all(plan_runs([counting], seeds=(0,), changes=["size=2"]), output=path)
    assert len(more.results) == 2  # another setting, another run


def test_a_run_goes_on_wherever_it_was_cut(counting: Any, tmp_path: Path) -> None:
    whole = run_all(plan_runs([counting])).results
    lines = [f"{json.dumps(result)}\n" for result in whole]
    for n_known in range(5):
        path, diary = tmp_path / f"{n_known}.jsonl", Diary()
        path.write_text("".join(lines[:n_known]) + (lines[n_known][:30] if n_known < 4 else ""))
        [run] = plan_runs([counting])
        folder = tmp_path / f"{path.name}.parts" / run.short_name
        folder.mkdir(parents=True)
        if n_known:
            (folder / "value").write_text(str(whole[n_known - 1]["value"]))
        outcome = run_all([run], output=path, listener=diary)
        assert diary.entries[0] == ("planned", 0, n_known)
        assert [entry[2] for entry in diary.entries if entry[0] == "found"] == list(range(n_known, 4))
        assert same(outcome.results) == same(read_results(path)) == same(whole)
        assert not folder.parent.exists()


def test_processes_find_the_same_and_one_that_fails_stops_no_other(counting: Any, tmp_path: Path) -> None:
    path, diary = tmp_path / "found.jsonl", Diary()
    runs = plan_runs([counting], seeds=range(4), datasets=["imdb"], changes=["fails=1", "dies=2"])
    n_threads = max(len(os.sched_getaffinity(0)) // 2, 1) if hasattr(os, "sched_getaffinity") else None
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OMP_NUM_THREADS", raising=False)
        outcome = run_all(runs, output=path, processes=2, listener=diary)
    assert same(read_results(path)) == same(outcome.results)
    assert [len([result for result in outcome.results if result["seed"] == seed]) for seed in range(4)] == [4, 2, 2, 4]
    (one, error), (other, death) = sorted(outcome.failures, key=lambda failure: failure[0].seed)
    assert (one.seed, str(error), type(error)) == (1, "seed 1 is not wanted", ValueError)
    assert "counting_recipe.py" in error.__notes__[0]
    assert (other.seed, str(death)) == (2, "The process of the run ended with exit code 7 before the run did.")
    assert {("failed", 1, str(error)), ("failed", 2, str(death)), ("told", 3, "counted to 4")} <= set(diary.entries)
    assert len({result["process"] for result in outcome.results} - {os.getpid()}) == 4
    assert n_threads is None or {result["threads"] for result in outcome.results} == {str(n_threads)}
    parts = tmp_path / "found.jsonl.parts"
    assert {path.name for path in parts.iterdir()} == {one.short_name, other.short_name}

    # The same in this process: those that were found are the same, and the others go on and fail again.
    runs = plan_runs([counting], seeds=(0, 1, 3), datasets=["imdb"], changes=["fails=1", "dies=2"])
    assert same(run_all(runs).results) == [result for result in same(outcome.results) if result["seed"] != 2]
    again = run_all(runs, output=path)
    assert [(failed.seed, str(error)) for failed, error in again.failures] == [(1, "seed 1 is not wanted")]
    assert len(read_results(path)) == 12


def test_what_this_process_cannot_do_fails_no_run_and_ends_all(counting: Any, tmp_path: Path) -> None:
    class Deaf(Diary):
        def found(self, run: PlannedRun, result: dict[str, Any]) -> None:
            raise BrokenPipeError

    path, diary = tmp_path / "found.jsonl", Deaf()
    with pytest.raises(BrokenPipeError):
        run_all(plan_runs([counting], seeds=(0, 1)), output=path, listener=diary)
    assert [entry for entry in diary.entries if entry[0] in ("began", "failed")] == [("began", 0)]
    assert len(read_results(path)) == 1
    assert len(run_all(plan_runs([counting], seeds=(0, 1)), output=path).results) == 8  # it goes on


def test_a_run_that_fails_before_it_keeps_anything_leaves_no_folder(counting: Any, tmp_path: Path) -> None:
    def fail(_settings: Any, _run: Any) -> Any:
        raise ValueError("no such data")

    path = tmp_path / "found.jsonl"
    outcome = run_all(plan_runs([replace(counting, run=fail)], seeds=(0, 1)), output=path)
    assert [str(error) for _, error in outcome.failures] == ["no such data"] * 2
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("processes", [0, -1])
def test_less_than_one_process_is_refused(counting: Any, processes: int) -> None:
    with pytest.raises(ValueError, match=f"processes must be 1 or more. Got {processes} instead"):
        run_all(plan_runs([counting]), processes=processes)


def wait_for(what: Any) -> None:
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_after_kill_9_the_same_command_goes_on(counting: Any, tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    command = [sys.executable, HERE / "counting_recipe.py", "experiments", "run", "counting", "-o", path]
    slow = ["--set", "seconds=0.4", "--set", f"here={tmp_path}", "--seeds", "3", "--processes", "2"]
    process = subprocess.Popen([*command, *slow], stderr=subprocess.DEVNULL)
    wait_for(lambda: path.exists() and len(path.read_bytes().splitlines()) >= 2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.1)

    def beats() -> list[int]:
        return [path.stat().st_size for path in sorted(tmp_path.glob("heartbeat-*"))]

    before = beats()
    time.sleep(0.2)  # within a result that takes longer
    assert beats() == before  # the workers are dead, too
    assert len(before) == 2
    n_known = len(read_results(path))
    assert 2 <= n_known < 8
    with path.open("a") as file:
        file.write('{"recipe": "coun')  # had it been killed while it wrote

    runs = plan_runs([counting], seeds=range(3))
    outcome = run_all(runs, output=path)
    assert len(path.read_text().splitlines()) == 12
    assert same(read_results(path)) == same(outcome.results) == same(run_all(runs).results)
    assert not Path(f"{path}.parts").exists()


def test_ctrl_c_stops_even_what_takes_it_for_an_early_end(counting: Any, tmp_path: Path) -> None:
    class Interrupting(Diary):
        def told(self, run: PlannedRun, line: str) -> None:
            super().told(run, line)
            if line == "counted to 2":
                with contextlib.suppress(KeyboardInterrupt):
                    signal.raise_signal(signal.SIGINT)

    path, handler = tmp_path / "found.jsonl", signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_all(plan_runs([counting], seeds=(0, 1)), output=path, listener=Interrupting())
    assert [result["step"] for result in read_results(path)] == [0]
    assert signal.getsignal(signal.SIGINT) is handler


def test_it_runs_in_any_thread(counting: Any) -> None:
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(run_all(plan_runs([counting], quick=True))))
    thread.start()
    thread.join()
    assert len(outcomes[0].results) == 2
