"""The callbacks of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.runner import Run
from benchmarks.runner.recipe import fit_progress


def test_a_run_is_silent_by_default(capfd: pytest.CaptureFixture[str]) -> None:
    run = Run(seed=0, folder=Path("run"))
    run.log("a line")
    run.progress(1, 2)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("n_fits", [1, 3])
def test_the_fits_of_a_result_share_its_part_of_the_progress(n_fits: int) -> None:
    progress: list[tuple[int, int]] = []
    update = fit_progress(
        Run(seed=0, folder=Path("run"), progress=lambda *args: progress.append(args)), 2, 5, n_fits=n_fits
    )
    for _ in range(n_fits):
        for share in (0.0, 0.5, 1.0):
            update(share)
    shares = [done / total for done, total in progress]
    assert {total for _, total in progress} == {5000}
    assert shares[0] == pytest.approx(2 / 5)
    assert shares[-1] == pytest.approx(3 / 5)
    assert shares == sorted(shares)
    for fit in range(n_fits):
        half = shares[3 * fit + 1]
        assert half == pytest.approx((2 + (fit + 0.5) / n_fits) / 5, abs=1e-3)


def test_the_progress_may_decrease_within_a_fit() -> None:
    progress: list[tuple[int, int]] = []
    update = fit_progress(Run(seed=0, folder=Path("run"), progress=lambda *args: progress.append(args)), 0, 1)
    for share in (0.0, 0.8, 0.6):
        update(share)
    assert progress == [(0, 1000), (800, 1000), (600, 1000)]
