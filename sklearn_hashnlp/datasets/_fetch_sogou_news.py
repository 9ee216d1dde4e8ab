"""Sogou News, downloaded when it is asked for."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sklearn_hashnlp.datasets._fetch_text_set import fetch_text_set


def fetch_sogou_news(
    *,
    subset: str = "train",
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Bunch | tuple[list[str], NDArray[np.str_]]:
    """Load Sogou News: Chinese news in Pinyin, five sections. Where it is not on the disk, 384 MB are downloaded.

    A text is the title and the content of a news article, joined by a blank; its label is "sports", "finance",
    "entertainment", "automobile" or "technology".

    The License for Use of Sogou Lab Data applies: see http://www.sogou.com/labs/dl/ca.html. The archive is
    https://s3.amazonaws.com/fast-ai-nlp/sogou_news_csv.tgz, a public copy of fast.ai's; its SHA-256 is published
    and checked.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        Which part: 450,000 texts, 60,000 texts, or both in this order.
    data_home : str or path-like, default=None
        The folder where sets are kept; by default the one that the environment variable ``HASHNLP_DATA`` names, or else
        ``~/sklearn_hashnlp_data``. A folder in it with ``train.csv`` and ``test.csv`` is used as it is, if its name is
        ``sogou_news_csv``, ``sogou_news`` or ``sogou``.
    download_if_missing : bool, default=True
        Whether the set is downloaded where it is not on the disk; with ``False`` that is an error.
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
            The folder that they were read from.
        DESCR : str
            What the set is, and the terms of its use.

    (texts, labels) : tuple of list of str and ndarray of shape (n_texts,)
        ``data`` and ``target`` where ``return_X_y=True``.

    Raises
    ------
    OSError
        If the set is not on the disk and cannot be downloaded or saved, or shall not be.
    ValueError
        If ``subset`` is unknown, or a file is not what was expected: its SHA-256, its archive or its rows.

    See Also
    --------
    load_labelled : Texts and labels from a file of your own.

    References
    ----------
    X. Zhang, J. Zhao and Y. LeCun (2015), Character-level Convolutional Networks for Text Classification, NIPS.

    Examples
    --------
    >>> from sklearn_hashnlp.datasets import fetch_sogou_news
    >>> texts, labels = fetch_sogou_news(return_X_y=True)  # doctest: +SKIP
    >>> len(texts)  # doctest: +SKIP
    450000
    """
    return fetch_text_set("sogou", subset, data_home, download_if_missing, return_X_y)
