"""Settings under which libraries compute as on another processor, and which of them can run on this
one.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tests.native import LEVEL

ROOT = Path(__file__).parents[2]

# For each library a script that prints what it computes with: with the same answer it computes the
# same bits.
PROBES = {
    "torch": "import torch; print(torch.backends.cpu.get_cpu_capability())",
    # MKL does not say, but the digest of a product does.
    "MKL": """
import hashlib, torch
a = torch.sin(torch.arange(90_000.0)).view(300, 300)
digest = hashlib.sha256((a @ a).numpy().tobytes()).hexdigest()
print(digest[:8] if torch.backends.mkl.is_available() else "no MKL")
""",
    "OpenBLAS": """
import numpy, scipy.linalg, threadpoolctl
numpy.ones((300, 300)) @ numpy.ones((300, 300))
libraries = threadpoolctl.threadpool_info()
print(*sorted({one["architecture"] for one in libraries if "architecture" in one}))
""",
    "numpy": """
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
print(*[name for name in __cpu_dispatch__ if __cpu_features__[name]])
""",
    "kernels": """
from tests.native import use_kernels
use_kernels()
from sklearn_hashnlp.kernels import _native
print(_native.level())
""",
}


class Setting(NamedTuple):
    """An environment variable that a library reads."""

    library: str
    variable: str
    value: str


Probe: TypeAlias = Callable[[str, Mapping[str, str]], "str | None"]


def probe(library: str, variables: Mapping[str, str]) -> str | None:
    """Return what a library computes with in a process with these variables; None if the process
    dies.
    """
    command = [sys.executable, "-c", PROBES[library]]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True
    )
    return done.stdout.strip() if done.returncode == 0 else None


def processors(found: list[str]) -> list[list[Setting]]:
    """Return the settings of each run; ``found`` are the instructions that numpy finds, and is to
    do without.
    """
    avx512 = " ".join(name for name in found if "AVX512" in name or name == "X86_V4")
    return [
        [
            Setting("torch", "ATEN_CPU_CAPABILITY", "default"),
            Setting("MKL", "MKL_CBWR", "COMPATIBLE"),
            Setting("OpenBLAS", "OPENBLAS_CORETYPE", "Haswell"),
            Setting("numpy", "NPY_DISABLE_CPU_FEATURES", avx512),
            Setting("kernels", LEVEL, "v3"),
        ],
        [
            Setting("torch", "ATEN_CPU_CAPABILITY", "avx2"),
            Setting("OpenBLAS", "OPENBLAS_CORETYPE", "Nehalem"),
            Setting("numpy", "NPY_DISABLE_CPU_FEATURES", " ".join(found)),
            Setting("kernels", LEVEL, "baseline"),
        ],
    ]


def choose(probe: Probe) -> tuple[list[list[Setting]], list[str]]:
    """Return the runs that differ from one without settings and from each other, and what is left
    out, with reasons.
    """
    native = {library: probe(library, {}) for library in PROBES}
    chosen = []
    seen = [native]
    skipped = []
    for settings in processors((native["numpy"] or "").split()):
        answers = {
            setting.library: probe(setting.library, {setting.variable: setting.value})
            for setting in settings
        }
        possible = [setting for setting in settings if answers[setting.library] is not None]
        skipped += [
            f"{setting.variable}={setting.value}: {setting.library} cannot run so on this processor"
            for setting in settings
            if setting not in possible
        ]
        computes_with = native | {setting.library: answers[setting.library] for setting in possible}
        if computes_with in seen:
            skipped.append(
                f"{describe(possible)}: the libraries compute as without it or as in a run above"
            )
        else:
            seen.append(computes_with)
            chosen.append(possible)
    return chosen, skipped


def describe(settings: list[Setting]) -> str:
    return ", ".join(f"{setting.variable}={setting.value}" for setting in settings)
