"""The eight text classification sets of Zhang, Zhao and LeCun (2015), downloaded on request."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sklearn_hashnlp._text_files import read_lines
from sklearn_hashnlp.datasets import _remote
from sklearn_hashnlp.datasets._labelled import load_labelled
from sklearn_hashnlp.datasets._remote import DATA_VARIABLE, DEFAULT_DATA_HOME, data_home
from sklearn_hashnlp.datasets._row_formats import has_header, is_class_number, numbered_rows
from sklearn_hashnlp.datasets._zhang_sets import ZHANG_SETS, ZhangSet

PARTS = ("train", "test")


class TextSet(NamedTuple):
    """Training and test texts with their labels."""

    train_texts: list[str]
    train_labels: NDArray[np.str_]
    test_texts: list[str]
    test_labels: NDArray[np.str_]


def read_text_set(folder: str | os.PathLike[str]) -> TextSet:
    """Read the training and test texts of a folder."""
    return TextSet(*read_part(folder, "train"), *read_part(folder, "test"))


def read_part(folder: str | os.PathLike[str], part: str) -> tuple[list[str], NDArray[np.str_]]:
    """Read ``train.csv`` or ``test.csv``, with a header or with class numbers in the first column."""
    path = Path(folder) / f"{part}.csv"
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; expected a folder with train.csv and test.csv.")
    with closing(read_lines(path)) as lines:
        if has_header(lines, str(path)):
            return load_labelled(path, multilabel=False)
    texts: list[str] = []
    labels: list[str] = []
    for row in numbered_rows(read_lines(path), str(path)):
        texts.append(row.text)
        labels.append(row.labels[0])
    return texts, np.array(labels)


def find_text_set(name: str, folder: str | os.PathLike[str] = "") -> Path:
    """Return the folder of a set on the disk, without a download."""
    homes = [data_home(folder)] if folder else [data_home(), data_home(DEFAULT_DATA_HOME)]
    archive = ZHANG_SETS[name].archive if name in ZHANG_SETS else name
    names = [f"{archive}_csv", archive, name, name.replace("-", "_")] if name in ZHANG_SETS else [name]
    candidates = list(dict.fromkeys(home / folder_name for home in homes for folder_name in names))
    for candidate in candidates:
        if has_both_parts(candidate):
            return candidate
    fetch = f" Or download it with sklearn_hashnlp.datasets.fetch_zhang({name!r})." if name in ZHANG_SETS else ""
    raise FileNotFoundError(
        f"The text set {name!r} was not found: none of these is a folder with train.csv and test.csv: "
        f"{', '.join(map(str, candidates))}. Put it there, or name the folder that contains it, for example with the "
        f"environment variable {DATA_VARIABLE}.{fetch}"
    )


def has_both_parts(folder: Path) -> bool:
    """Return whether a folder has ``train.csv`` and ``test.csv``."""
    return all((folder / f"{part}.csv").is_file() for part in PARTS)


_Subset: TypeAlias = Literal["train", "test", "all"]

_DESCRIPTION = """\
{title}

{n_texts} texts from {folder}. The whole set has {n_train:,} texts to train with and {n_test:,} to test with, in
{n_classes} classes; columns: {columns}.

Terms: {terms}
Source: {url}
X. Zhang, J. Zhao and Y. LeCun, Character-level Convolutional Networks for Text Classification, NIPS 2015.
"""


def fetch_zhang(
    name: str,
    *,
    subset: _Subset = "train",
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:  # a Bunch, which has no typed attributes, or a tuple[list[str], NDArray[np.str_]]
    """Load a text classification set of Zhang, Zhao and LeCun; download it if it is not on the disk.

    A text consists of the text columns of its row, joined by spaces.

    Parameters
    ----------
    name : {"ag", "amazon", "amazon-polarity", "dbpedia", "sogou", "yahoo", "yelp", "yelp-polarity"}
        The set:

        - ``"ag"``: AG's News, 12 MB. Title and start of a news article; "World", "Sports", "Business" or "Sci/Tech".
          Backslashes at line breaks are kept. For research and any other non-commercial activity:
          http://www.di.unipi.it/~gulli/AG_corpus_of_news_articles.html.
        - ``"amazon"``: Amazon Review Full, 644 MB. Title and text of a review; its stars, "1" to "5". The authors name
          no license; the reviews are from McAuley and Leskovec (2013), Hidden factors and hidden topics, RecSys.
        - ``"amazon-polarity"``: Amazon Review Polarity, 688 MB. The same; "negative" (one or two stars) or "positive"
          (four or five).
        - ``"dbpedia"``: DBpedia Ontology, 68 MB. Title and abstract of a Wikipedia article; one of 14 classes of the
          ontology of DBpedia 2014, such as "Company" or "Village". Under the Creative Commons Attribution-ShareAlike
          License and the GNU Free Documentation License: https://www.dbpedia.org.
        - ``"sogou"``: Sogou News, 384 MB. Title and content of a news article, Chinese written in Pinyin; "sports",
          "finance", "entertainment", "automobile" or "technology". Under the License for Use of Sogou Lab Data:
          http://www.sogou.com/labs/dl/ca.html.
        - ``"yahoo"``: Yahoo! Answers, 319 MB. Title of a question, the question and its best answer; one of ten topics,
          such as "Health" or "Sports". For approved non-commercial research by those who have signed a Data Sharing
          Agreement with Yahoo! (its Webscope program).
        - ``"yelp"``: Yelp Review Full, 196 MB. A review; its stars, "1" to "5". Yelp's terms for its dataset, for
          academic purposes: https://www.yelp.com/dataset.
        - ``"yelp-polarity"``: Yelp Review Polarity, 166 MB. The same; "negative" (one or two stars) or "positive"
          (three or four).

    subset : {"train", "test", "all"}, default="train"
        The training texts, the test texts, or both in this order.

        =================== ========= =======
        name                train     test
        =================== ========= =======
        ``ag``              120,000   7,600
        ``amazon``          3,000,000 650,000
        ``amazon-polarity`` 3,600,000 400,000
        ``dbpedia``         560,000   70,000
        ``sogou``           450,000   60,000
        ``yahoo``           1,400,000 60,000
        ``yelp``            650,000   50,000
        ``yelp-polarity``   560,000   38,000
        =================== ========= =======

    data_home : str or path-like, default=None
        The folder where data sets are stored; by default the environment variable ``HASHNLP_DATA``, or else
        ``~/sklearn_hashnlp_data``. An existing set, a folder with ``train.csv`` and ``test.csv``, is read unchanged.
        The folder is named like the set, or like its archive with or without ``_csv``: ``ag_news``,
        ``amazon_review_full``, ``amazon_review_polarity``, ``dbpedia``, ``sogou_news``, ``yahoo_answers``,
        ``yelp_review_full`` or ``yelp_review_polarity``.
    download_if_missing : bool, default=True
        If ``False``, raise an error instead of downloading a set that is not on the disk.
    return_X_y : bool, default=False
        Return ``(texts, labels)`` instead of a ``Bunch``.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : list of str
            The texts, in the order of the file.
        target : ndarray of shape (n_texts,), dtype str
            The label of each text.
        target_names : list of str
            The classes, in the order of their numbers in the file.
        filename : str
            The folder of the set.
        DESCR : str
            A description of the set, with its terms of use.

    (texts, labels) : tuple of list of str and ndarray of shape (n_texts,)
        ``data`` and ``target`` if ``return_X_y=True``.

    Raises
    ------
    OSError
        If the set is not on the disk and ``download_if_missing=False``, or it cannot be downloaded or saved.
    ValueError
        If ``name`` or ``subset`` is unknown, or a file does not have the expected SHA-256, content or rows.

    See Also
    --------
    load_labelled : Load texts and labels from a file.

    Notes
    -----
    Archives are downloaded from ``https://s3.amazonaws.com/fast-ai-nlp/ARCHIVE_csv.tgz``, a public copy of fast.ai, and
    checked against their published SHA-256.

    References
    ----------
    X. Zhang, J. Zhao and Y. LeCun (2015), Character-level Convolutional Networks for Text Classification, NIPS.

    Examples
    --------
    >>> from sklearn_hashnlp.datasets import fetch_zhang
    >>> texts, labels = fetch_zhang("ag", return_X_y=True)  # doctest: +SKIP
    >>> len(texts)  # doctest: +SKIP
    120000
    """
    if name not in ZHANG_SETS:
        raise ValueError(f"fetch_zhang: name must be one of {_quoted(ZHANG_SETS)}. Got {name!r} instead.")
    if subset not in get_args(_Subset):
        raise ValueError(f"fetch_zhang: subset must be one of {_quoted(get_args(_Subset))}. Got {subset!r} instead.")
    known = ZHANG_SETS[name]
    folder = _find_or_download(name, _remote.data_home(data_home), download_if_missing)
    parts = [read_part(folder, part) for part in (PARTS if subset == "all" else [subset])]
    texts = [text for part, _ in parts for text in part]
    if known.escapes_line_feeds:
        texts = [text.replace("\\n", "\n") for text in texts]
    labels = _class_names(np.concatenate([part for _, part in parts]), known, folder)
    if return_X_y:
        return texts, labels
    classes = np.unique(labels).tolist()
    description = _DESCRIPTION.format(
        **known._asdict(),
        url=known.url,
        n_classes=len(known.classes),
        n_texts=f"{len(texts):,}",
        folder=folder,
    )
    return Bunch(
        data=texts,
        target=labels,
        target_names=list(known.classes) if set(classes) <= set(known.classes) else classes,
        filename=str(folder),
        DESCR=description,
    )


def _find_or_download(name: str, home: Path, download: bool) -> Path:
    try:
        return find_text_set(name, home)
    except FileNotFoundError:
        pass
    known = ZHANG_SETS[name]
    remote = _remote.RemoteFile(f"{known.archive}_csv.tgz", known.url, known.sha256, known.n_bytes)
    folder = home / f"{known.archive}_csv"
    if folder.exists():
        raise FileExistsError(f"{folder} exists, but has no train.csv and test.csv. Complete it, or delete it.")
    archive_existed = (home / remote.name).exists()
    with _download_bar(remote.name) as progress:
        archive = _remote.fetch_remote(remote, home, download=download, progress=progress)
    try:
        _remote.unpack_text_set(archive, folder)
    except OSError:
        if not has_both_parts(folder):  # else another process was faster
            raise
    if not archive_existed:  # keep the user's archive
        archive.unlink(missing_ok=True)
    return folder


def _class_names(labels: NDArray[np.str_], known: ZhangSet, folder: Path) -> NDArray[np.str_]:
    """Replace class numbers by class names; labels of a user's file may be names already."""
    classes, codes = np.unique(labels, return_inverse=True)
    names = []
    for label in classes.tolist():
        if is_class_number(label) and not 1 <= int(label) <= len(known.classes):
            raise ValueError(f"{folder}: expected class numbers from 1 to {len(known.classes)}, got {label}.")
        names.append(known.classes[int(label) - 1] if is_class_number(label) else label)
    return np.array(names)[codes]


@contextmanager
def _download_bar(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar if stderr is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = TextColumn("Downloading {task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=None, visible=False)

        def move(n_bytes: int, n_total: int) -> None:
            bar.update(task, completed=n_bytes, total=n_total or None, visible=True)

        yield move


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
