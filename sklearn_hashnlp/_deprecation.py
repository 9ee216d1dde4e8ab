"""Warnings about names and values that a later release will remove."""

from __future__ import annotations

import re
import warnings

_N_MINOR_RELEASES = 2


def removal_release(deprecated_in: str) -> str:
    """Return the release that may remove what another release deprecated: two minor releases later."""
    match = re.fullmatch(r"(\d+)\.(\d+)", deprecated_in)
    if match is None:
        raise ValueError(f"deprecated_in must be a minor release such as '0.3', got {deprecated_in!r}.")
    return f"{match[1]}.{int(match[2]) + _N_MINOR_RELEASES}"


def warn_deprecated(old: str, *, instead: str, deprecated_in: str) -> None:
    """Warn the user, by a ``FutureWarning`` at their line, that ``old`` will be removed.

    ``old`` and ``instead`` are phrases, such as "The parameter 'width' of Encoder" and "use 'projection_dim'";
    ``deprecated_in`` is the minor release that first warns, as a literal, so that a test finds what is due.
    """
    from sklearn_hashnlp._sklearn import level_of_user  # which takes long to import

    message = f"{old} is deprecated since {deprecated_in} and will be removed in {removal_release(deprecated_in)}: "
    warnings.warn(f"{message}{instead}.", FutureWarning, stacklevel=level_of_user())
