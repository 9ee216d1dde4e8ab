"""The site is built without a warning and without a network, as `make docs` does, but for running
the examples.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("sphinx_gallery", reason="make docs installs Sphinx")
    options = [
        "--builder",
        "html",
        "--fail-on-warning",
        "--keep-going",
        "--define",
        "plot_gallery=0",
    ]
    folders = ["--doctree-dir", str(tmp_path / "doctrees"), str(DOCS), str(tmp_path / "html")]
    command = [sys.executable, "-m", "sphinx", *options, *folders]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for page in ("index", "which_estimator", "api/index", "gallery/index", "benchmarks"):
        assert (tmp_path / "html" / f"{page}.html").stat().st_size > 10_000
