"""Compiling on first use: what it costs, in fresh processes, and what is said of it."""

import gc
import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from sklearn_hashnlp import _clock
from sklearn_hashnlp.kernels._cache import KernelCache
from sklearn_hashnlp.kernels._compile import compilations, compiled, inner

FIRST_USE = """
import gc
import json
import numpy as np
from sklearn_hashnlp.kernels import _rows
rows = np.array([[3, 1, 2, 1, 4]])
_rows.mask_before_last(rows, 1)
stats = _rows.mask_before_last.stats
print(json.dumps([rows.tolist(), sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""
FULL_DISK = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
"""


def run(code, cache_folder):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache_folder)},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_on_a_full_disk_it_works_uncached(tmp_path):
    assert run(FULL_DISK + FIRST_USE, tmp_path)[1:] == [0, 1]  # nothing loaded, all compiled
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


# The notice and the clock


def slow_to_compile(x: Any) -> Any:
    return x + 3


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Any:
    """Return a function that calls a kernel as a new process would, and returns what is logged."""
    monkeypatch.setattr(numba.core.config, "reload_config", lambda: None)  # which would reset the next line
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    logger = logging.getLogger("sklearn_hashnlp")
    monkeypatch.setattr(logger, "handlers", [])  # of a command that ran before
    monkeypatch.setattr(logger, "propagate", True)

    def call(level: int = logging.INFO) -> list[tuple[str, str]]:
        monkeypatch.setattr(KernelCache, "_folders", None)
        monkeypatch.setattr(compilations, "announced", False)
        caplog.clear()
        with caplog.at_level(level, logger="sklearn_hashnlp"):
            for value in (1, 1.0):
                compiled(slow_to_compile)(value)
        return [(record.levelname, record.getMessage()) for record in caplog.records]

    return call


def test_a_process_that_compiles_logs_it_once_and_others_are_silent(fresh, tmp_path):
    [(level, message)] = fresh()
    assert level == "INFO"
    assert message.startswith("Compiling functions for this machine")
    assert str(tmp_path / "cache") in message
    assert fresh() == []


def test_a_process_that_cannot_keep_what_it_compiles_warns(fresh, tmp_path):
    (tmp_path / "cache").touch()
    [(level, message)] = fresh()
    assert level == "WARNING"
    assert f"{tmp_path / 'cache'}" in message
    assert "hashnlp warmup" in message
    assert "NUMBA_CACHE_DIR" in message


@pytest.mark.parametrize("configured", [True, False], ids=["logging", "no logging"])
@pytest.mark.parametrize("place", ["terminal", "notebook"])
def test_on_a_terminal_and_in_a_notebook_it_is_printed_once(place, configured, fresh, capsys, monkeypatch):
    fresh(logging.WARNING)
    assert capsys.readouterr().err == ""
    shutil.rmtree(numba.config.CACHE_DIR)
    if place == "terminal":
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    else:
        monkeypatch.setitem(sys.modules, "ipykernel", None)
    assert len(fresh(logging.INFO if configured else logging.WARNING)) == configured
    assert capsys.readouterr().err.count("Compiling functions") == (not configured)


def test_the_functions_of_others_are_compiled_in_silence(fresh, caplog):
    fresh()
    compilations.announced = False
    caplog.clear()
    numba.njit(lambda x: x + 4)(1)
    assert not caplog.records


def test_the_clock_stands_still_while_functions_are_compiled(monkeypatch):
    monkeypatch.setattr(_clock, "_Compiling", type("", (), {"depth": 0, "since": 0.0, "seconds": 0.0}))
    now = [100.0]
    monkeypatch.setattr(_clock.time, "perf_counter", lambda: now[0])

    def after(seconds: float) -> float:
        now[0] += seconds
        return _clock.clock()

    assert after(1) == 101
    _clock.compiling_begins()
    _clock.compiling_begins()  # a function that it calls
    assert after(10) == 101
    _clock.compiling_ends()
    assert after(10) == 101
    _clock.compiling_ends()
    assert after(2) == 103
    assert _clock.compile_seconds() == 20
    assert _clock._Compiling.depth == 0


def test_the_clock_goes_on_when_a_function_cannot_be_compiled():
    with pytest.raises(numba.TypingError):
        numba.njit(lambda x: x + "a")(1)
    assert _clock._Compiling.depth == 0


def test_a_part_is_compiled_once_for_a_constant_and_for_a_variable():
    @inner
    def increased(x: Any) -> Any:
        return x + 1

    calls_both = compiled(lambda x: increased(0) + increased(x))
    assert calls_both(5) == 7
    assert len(increased.signatures) == 1


def test_the_garbage_collector_rests_while_functions_are_compiled():
    ran = []

    def watch(phase: str, info: dict[str, int]) -> None:
        ran.append(compilations.depth)

    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        gc.callbacks.append(watch)
        try:
            compiled(lambda x: np.sort(x))(np.arange(3))
            assert gc.isenabled() == enabled
        finally:
            gc.callbacks.remove(watch)
            gc.enable()
    assert not any(ran)
