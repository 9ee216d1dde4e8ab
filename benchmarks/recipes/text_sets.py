"""Download, find and read the text sets of Zhang, Zhao and LeCun (2015)."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import urlopen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PARTS = ("train.csv", "test.csv")
_HOME = "~/sklearn_hashnlp_data"
_TIMEOUT_SECONDS = 60.0
_CHUNK_BYTES = 1 << 20


class Archive(NamedTuple):
    """An archive of fast.ai's public copies, with its SHA-256 as published in FastAI.jl."""

    name: str  # without _csv.tgz
    megabytes: int
    sha256: str

    @property
    def url(self) -> str:
        """The address of the archive."""
        return f"https://s3.amazonaws.com/fast-ai-nlp/{self.name}_csv.tgz"


# The keys are the names of the sets in the code of the hash-embedding paper.
ARCHIVES = {
    "ag": Archive(
        "ag_news", 12, "9a8c300eabb45750237fcc669f61cb8a3448f3ef6f6098e1ce340e444f6872be"
    ),
    "amazon": Archive(
        "amazon_review_full",
        644,
        "4af62eeee139d0142e0747340b68646d23483d9475c33ea0641ee9175b423443",
    ),
    "amazon-polarity": Archive(
        "amazon_review_polarity",
        688,
        "d2a3ee7a214497a5d1b8eaed7c8d7ba2737de00ada3b0ec46243983efa100361",
    ),
    "dbpedia": Archive(
        "dbpedia", 68, "42db5221ddedddb673a4cabcc5f3a7d869714c878bcfe4ba94b29d14aa38e417"
    ),
    "sogou": Archive(
        "sogou_news", 384, "6b77fc935561d339b82aa552d7e31ea59eff492a494920579b3ce70604efb5c2"
    ),
    "yahoo": Archive(
        "yahoo_answers", 319, "2d4277855faf8b35259009425fa8f7fe1888b5644b47165508942d000f4c96ae"
    ),
    "yelp": Archive(
        "yelp_review_full", 196, "56006b0a17a370f1e366504b1f2c3e3754e4a3dda17d3e718a885c552869a559"
    ),
    "yelp-polarity": Archive(
        "yelp_review_polarity",
        166,
        "528f22e286cad085948acbc3bea7e58188416546b0e364d0ae4ca0ce666abe35",
    ),
}


class TextSet(NamedTuple):
    """Training and test texts with their labels."""

    train_texts: list[str]
    train_labels: NDArray[np.str_]
    test_texts: list[str]
    test_labels: NDArray[np.str_]


def read_text_set(folder: Path) -> TextSet:
    """Read the training and test texts of a folder."""
    from sklearn_hashnlp.datasets import load_labelled

    train, test = (load_labelled(folder / part, multilabel=False) for part in _PARTS)
    return TextSet(*train, *test)


def data_home(folder: str | os.PathLike[str] = "") -> Path:
    """Return the folder where data sets are stored, which need not exist."""
    return Path(folder or os.environ.get("HASHNLP_DATA") or _HOME).expanduser()


def find_text_set(name: str, folder: str | os.PathLike[str] = "") -> Path:
    """Return the folder of a set, with its name or the name of its archive."""
    homes = [data_home(folder)] if folder else [data_home(), data_home(_HOME)]
    archive = ARCHIVES[name].name if name in ARCHIVES else name
    names = [f"{archive}_csv", archive, name, name.replace("-", "_")]
    names = names if name in ARCHIVES else [name]
    candidates = list(dict.fromkeys(home / one for home in homes for one in names))
    for candidate in candidates:
        if _is_complete(candidate):
            return candidate
    fetch = f" Or download it: python -m benchmarks fetch {name}" if name in ARCHIVES else ""
    raise FileNotFoundError(
        f"The text set {name!r} was not found: none of these is a folder with train.csv and "
        f"test.csv: {', '.join(map(str, candidates))}. Put it there, or name the folder that "
        f"contains it, for example with the environment variable HASHNLP_DATA.{fetch}"
    )


def fetch_text_set(name: str, folder: str | os.PathLike[str] = "") -> Path:
    """Return the folder of a set, which is downloaded, verified and unpacked if it is missing."""
    archive, home = ARCHIVES[name], data_home(folder)
    target = home / f"{archive.name}_csv"
    if _is_complete(target):
        return target
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{target.name}.", dir=home) as temporary:
        file = Path(temporary) / "archive.tgz"
        _download(archive, file)
        with tarfile.open(file) as tar:
            tar.extractall(temporary, filter="data")  # refuses members outside of the folder
        (Path(temporary) / target.name).rename(target)
    return target


def _download(archive: Archive, path: Path) -> None:
    try:
        with urlopen(archive.url, timeout=_TIMEOUT_SECONDS) as response, path.open("wb") as file:
            shutil.copyfileobj(response, file, _CHUNK_BYTES)
    except OSError as error:
        raise ConnectionError(f"{archive.url} could not be downloaded: {error}") from error
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 != archive.sha256:
        raise ValueError(
            f"The file from {archive.url} is not the expected one: its SHA-256 is {sha256}, "
            f"expected {archive.sha256} (published). It was not kept."
        )


def _is_complete(folder: Path) -> bool:
    return all((folder / part).is_file() for part in _PARTS)
