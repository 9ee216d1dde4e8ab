"""Names that are imported on first use, and errors of these imports."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

PACKAGE = {
    "__init__.py": "from sklearn_hashnlp._lazy import lazy_names\n"
    "__getattr__, __dir__, __all__ = lazy_names(__name__)\n",
    "__init__.pyi": "from late import folder as folder\n"
    "from late._names import There as There, Absent as Absent\n"
    '__all__ = ["There"]\n',
    "_names.py": "class There: ...\n",
    "folder.py": "import math\nmath.no_such_function\n",
}


@pytest.fixture
def late(tmp_path, monkeypatch):
    (tmp_path / "late").mkdir()
    for name, content in PACKAGE.items():
        (tmp_path / "late" / name).write_text(content, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("late")
    for name in [name for name in sys.modules if name.partition(".")[0] == "late"]:
        del sys.modules[name]


def test_an_attribute_error_of_an_import_is_told(late):
    assert late.There.__name__ == "There"
    with pytest.raises(
        ImportError,
        match=r"^late\.folder cannot be imported: module 'math' .* 'no_such_function'\.$",
    ):
        late.folder  # noqa: B018
    with pytest.raises(
        ImportError, match=r"^late\.Absent cannot be imported: .* has no attribute 'Absent'\.$"
    ):
        late.Absent  # noqa: B018
    with pytest.raises(AttributeError, match="module 'late' has no attribute 'never'"):
        late.never  # noqa: B018


def test_kernels_that_are_not_compiled_are_named():
    code = (
        "import sys; sys.modules['sklearn_hashnlp.kernels._native'] = None; "
        "import sklearn_hashnlp.kernels"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (
        "The kernels of sklearn_hashnlp are not compiled for this Python"
        in result.stderr.splitlines()[-1]
    )
