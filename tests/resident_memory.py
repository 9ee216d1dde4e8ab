"""Memory of a process, for programs that tests run."""

import sys
from pathlib import Path


def resident() -> int:
    """Return the resident memory of this process in kB; 0 where there is no /proc."""
    lines = Path("/proc/self/status").read_text().splitlines() if sys.platform == "linux" else ["VmRSS: 0 kB"]
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
