"""The folder where data sets are kept."""

from __future__ import annotations

import os
from pathlib import Path

DATA_VARIABLE = "HASHNLP_DATA"
USUAL_FOLDER = "~/sklearn_hashnlp_data"


def data_home(folder: str | os.PathLike[str] | None = None) -> Path:
    """Give the folder where data sets are kept, which need not exist.

    Parameters
    ----------
    folder : str or path-like, default=None
        The user's choice. By default the folder that the environment variable ``HASHNLP_DATA`` names, or else
        ``~/sklearn_hashnlp_data``.

    Returns
    -------
    Path
        The folder, ``~`` made the user's home.
    """
    return Path(folder or os.environ.get(DATA_VARIABLE) or USUAL_FOLDER).expanduser()
