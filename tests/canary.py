"""What no reader of untrusted files may load."""

from pathlib import Path
from typing import Any


class Canary:
    """A pickle of it writes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)
