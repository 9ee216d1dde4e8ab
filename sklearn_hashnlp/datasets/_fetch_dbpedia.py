"""DBpedia Ontology, downloaded when it is asked for."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sklearn_hashnlp.datasets._fetch_text_set import fetch_text_set


def fetch_dbpedia(
    *,
    subset: str = "train",
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Bunch | tuple[list[str], NDArray[np.str_]]:
    """Load DBpedia Ontology: what an article is about, 14 kinds. Where it is not on the disk, 68 MB are downloaded.

    A text is the title and the abstract of an article of Wikipedia's, joined by a blank; its label is its class in
    the ontology of DBpedia 2014, such as "Company" or "Village".

    The texts are under the Creative Commons Attribution-ShareAlike License and the GNU Free Documentation License:
    see https://www.dbpedia.org. The archive is https://s3.amazonaws.com/fast-ai-nlp/dbpedia_csv.tgz, a public copy
    of fast.ai's; its SHA-256 is published and checked.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        Which part: 560,000 texts, 70,000 texts, or both in this order.
    data_home : str or path-like, default=None
        The folder where sets are kept; by default the one that the environment variable ``HASHNLP_DATA`` names, or else
        ``~/sklearn_hashnlp_data``. A folder in it with ``train.csv`` and ``test.csv`` is used as it is, if its name is
        ``dbpedia_csv`` or ``dbpedia``.
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
    >>> from sklearn_hashnlp.datasets import fetch_dbpedia
    >>> texts, labels = fetch_dbpedia(return_X_y=True)  # doctest: +SKIP
    >>> len(texts)  # doctest: +SKIP
    560000
    """
    return fetch_text_set("dbpedia", subset, data_home, download_if_missing, return_X_y)
