"""Deprecated names warn for two minor releases, and are removed then."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path
from types import ModuleType

import pytest

import sklearn_hashnlp
from sklearn_hashnlp._deprecation import removal_release, warn_deprecated

PACKAGE = Path(sklearn_hashnlp.__file__).parent


def release(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def overdue(source: str, version: str) -> list[int]:
    """Return the lines of a source file that call ``warn_deprecated`` for what a version should no longer have."""
    lines: list[int] = []
    if "warn_deprecated" not in source:
        return lines
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "warn_deprecated":
            since = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg}
            if release(removal_release(since["deprecated_in"])) <= release(version):
                lines.append(node.lineno)
    return lines


def test_the_warning_names_both_releases_and_the_replacement() -> None:
    with pytest.warns(FutureWarning) as caught:
        warn_deprecated("The parameter 'width'", instead="use 'projection_dim'", deprecated_in="0.9")
    assert str(caught[0].message) == (
        "The parameter 'width' is deprecated since 0.9 and will be removed in 0.11: use 'projection_dim'."
    )


def test_the_warning_points_at_the_line_of_the_user() -> None:
    # A module of the package between the user and the warning.
    module = ModuleType("sklearn_hashnlp._some")
    module.__dict__["warn_deprecated"] = warn_deprecated
    code = "def old(): warn_deprecated('old', instead='call new', deprecated_in='0.1')"
    exec(compile(code, "_some.py", "exec"), module.__dict__)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module.old()
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("version", ["1", "0.1.0", "next", "0.x"])
def test_a_deprecation_names_a_minor_release(version: str) -> None:
    with pytest.raises(ValueError, match=r"must be a minor release such as '0\.3'"):
        removal_release(version)


def test_what_is_overdue_is_found() -> None:
    source = "x = 1\nwarn_deprecated('a', instead='b', deprecated_in='0.1')\n"
    assert overdue(source, "0.2.5") == []
    assert overdue(source, "0.3.0") == [2]
    assert overdue(source, "1.0.0") == [2]


def test_nothing_is_kept_longer_than_was_said() -> None:
    paths = sorted(PACKAGE.rglob("*.py"))
    assert len(paths) > 100
    late = {path.name: overdue(path.read_text(encoding="utf-8"), sklearn_hashnlp.__version__) for path in paths}
    assert not {name: lines for name, lines in late.items() if lines}


def test_the_package_has_no_other_warnings_of_the_future() -> None:
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if path.name != "_deprecation.py" and "Warning" in source:
            names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
            assert not names & {"FutureWarning", "DeprecationWarning", "PendingDeprecationWarning"}, path
