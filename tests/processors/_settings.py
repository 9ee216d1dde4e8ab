"""Settings under which libraries compute as on another processor, and which of them can run on this one."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

# For each library a script that prints what it computes with: with the same answer it computes the same bits.
PROBES = {
    "torch": "import torch; print(torch.backends.cpu.get_cpu_capability())",
    # MKL does not say, but the digest of a product does.
    "MKL": """
import hashlib, torch
a = torch.sin(torch.arange(90_000.0)).view(300, 300)
print(hashlib.sha256((a @ a).numpy().tobytes()).hexdigest()[:8] if torch.backends.mkl.is_available() else "no MKL")
""",
    "OpenBLAS": """
import numpy, scipy.linalg, threadpoolctl
numpy.ones((300, 300)) @ numpy.ones((300, 300))
print(*sorted({one.get("architecture", "no OpenBLAS") for one in threadpoolctl.threadpool_info()} - {"no OpenBLAS"}))
""",
    "numpy": """
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
print(*[name for name in __cpu_dispatch__ if __cpu_features__[name]])
""",
    "numba": "from numba.core.registry import cpu_target; print(cpu_target.target_context.codegen().magic_tuple()[1])",
}


class Setting(NamedTuple):
    """Environment variables that one library reads."""

    library: str
    variables: Mapping[str, str]
    name: str


Probe: TypeAlias = Callable[[str, Mapping[str, str]], "str | None"]


def probe(library: str, variables: Mapping[str, str]) -> str | None:
    """Return what a library computes with in a process with these variables; None if the process dies."""
    command = [sys.executable, "-c", PROBES[library]]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def all_settings(found: list[str]) -> list[Setting]:
    """Return all settings; ``found`` are the instructions that numpy finds, and is to do without."""
    variables = [
        ("torch", "ATEN_CPU_CAPABILITY", "default"),
        *(("OpenBLAS", "OPENBLAS_CORETYPE", core) for core in ("Haswell", "Zen", "SkylakeX", "Nehalem")),
        ("MKL", "MKL_CBWR", "COMPATIBLE"),
        ("numba", "NUMBA_CPU_NAME", "generic"),
    ]
    settings = [Setting(library, {name: value}, f"{name}={value}") for library, name, value in variables]
    avx512 = [name for name in found if "AVX512" in name or name == "X86_V4"]
    for names, name in ((avx512, "numpy without AVX-512"), (found, "numpy without AVX2")):
        settings.append(Setting("numpy", {"NPY_DISABLE_CPU_FEATURES": " ".join(names)}, name))
    return settings


def choose(probe: Probe) -> tuple[list[Setting], dict[str, str]]:
    """Return the settings that make a difference here, and the names of the others with the reason."""
    native = {library: probe(library, {}) for library in PROBES}
    seen = {library: {answer} for library, answer in native.items()}
    chosen, skipped = [], {}
    for setting in all_settings((native["numpy"] or "").split()):
        answer = probe(setting.library, setting.variables)
        if answer is None:
            skipped[setting.name] = f"{setting.library} cannot run so on this processor"
        elif answer in seen[setting.library]:
            skipped[setting.name] = f"{setting.library} takes {answer or 'nothing'}, as without it or in a run above"
        else:
            seen[setting.library].add(answer)
            chosen.append(setting)
    return chosen, skipped


def together(chosen: list[Setting]) -> list[Setting]:
    """Return one setting of all libraries but numba, with which all kernels would be compiled again."""
    some = [setting for setting in chosen if setting.library != "numba"]
    variables = {name: value for setting in some for name, value in setting.variables.items()}
    return [Setting("all", variables, ", ".join(setting.name for setting in some))] if some else []
