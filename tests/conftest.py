"""Settings of all tests, and how they are spread over processes: ``make test`` runs one worker a
core.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadGroupScheduling

from tests.native import use_kernels

use_kernels()  # before the files conftest.py of folders import them

# On a busy machine a single example may take long, so none has a deadline.
settings.register_profile("quick", deadline=None, max_examples=12)
settings.register_profile("ci", parent=settings.get_profile("quick"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "quick")


class _Files(LoadGroupScheduling):
    """Run a file in one worker, which then makes its fixtures once, and so a group of tests marked
    ``xdist_group``.
    """

    def _split_scope(self, nodeid: str) -> str:
        group: str = super()._split_scope(nodeid)
        return nodeid.split("::", 1)[0] if group == nodeid else group


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Files | None:
    """Deal out whole files where groups are asked for."""
    return _Files(config, log) if config.getoption("dist") == "loadgroup" else None


def pytest_configure(config: pytest.Config) -> None:
    """Let each worker compute on one thread, which libraries read when they are imported, and be
    interruptible.
    """
    if config.getoption("numprocesses", None):
        for library in ("OMP", "MKL", "OPENBLAS"):
            os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell
        signal.signal(signal.SIGINT, signal.default_int_handler)
