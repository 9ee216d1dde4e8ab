"""What a fitted estimator learned, as plain values and arrays: what is saved, pickled and copied."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK = 2**18


def pack_table(name: str, table: NDArray[Any], fill: float) -> dict[str, NDArray[Any]]:
    """Store a table by the rows that differ from its initial value, or whole if that is smaller.

    Parameters
    ----------
    name : str
        Key of the table.
    table : ndarray of shape (n_rows, n_columns)
        The table.
    fill : float
        Its initial value.

    Returns
    -------
    dict of str to ndarray
        ``{name.rows, name.values}`` or ``{name}``.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.zeros((1000, 2), dtype=np.float32)
    >>> table[7] = 1
    >>> packed = pack_table("pool", table, fill=0.0)
    >>> packed["pool.rows"], packed["pool.values"]
    (array([7]), array([[1., 1.]], dtype=float32))
    """
    # Bits are compared, so that -0.0 and NaN come back as they were; in blocks, so that nothing table-sized is made.
    unsigned = np.dtype(f"u{table.dtype.itemsize}")
    bits, untouched = table.view(unsigned), np.asarray(fill, dtype=table.dtype).view(unsigned)
    found = [
        start + np.flatnonzero((bits[start : start + _BLOCK] != untouched).any(axis=1))
        for start in range(0, len(table), _BLOCK)
    ]
    rows = np.concatenate(found).astype(np.int64)
    if len(rows) * (rows.itemsize + table.itemsize * table.shape[1]) < table.nbytes:
        return {f"{name}.rows": rows, f"{name}.values": table[rows]}
    return {name: table.copy()}


def unpack_table(name: str, arrays: dict[str, NDArray[Any]], table: NDArray[Any]) -> None:
    """Write a stored table over a fresh one.

    Parameters
    ----------
    name : str
        Key of the table.
    arrays : dict of str to ndarray
        Holds what :func:`pack_table` made.
    table : ndarray of shape (n_rows, n_columns)
        Written in place; holds the initial value everywhere.

    Raises
    ------
    ValueError
        If what is stored does not fit the table.
    """
    stored = arrays[name] if name in arrays else arrays[f"{name}.values"]
    expected = table.shape if name in arrays else (len(arrays[f"{name}.rows"]), table.shape[1])
    if stored.shape != expected:
        raise ValueError(f"The array {name!r} must have shape {expected}, the stored one has {stored.shape}.")
    if name in arrays:
        table[...] = stored
    else:
        table[arrays[f"{name}.rows"]] = stored


def pack_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Turn class labels into JSON values.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Strings, integers, floats or bools, in an array of that kind or of objects.

    Returns
    -------
    dict
        ``{"dtype": str, "values": list}``.

    Raises
    ------
    TypeError
        If a label is of another type.

    Examples
    --------
    >>> import numpy as np
    >>> pack_labels(np.array([False, True]))
    {'dtype': '|b1', 'values': [False, True]}
    """
    values = [value.item() if isinstance(value, np.generic) else value for value in classes.tolist()]
    for value in values:
        if not isinstance(value, str | int | float):
            raise TypeError(
                f"Class labels of type {type(value).__name__!r} cannot be saved; "
                "use strings, integers, floats or bools."
            )
    return {"dtype": classes.dtype.str, "values": values}


def unpack_labels(packed: dict[str, Any]) -> NDArray[Any]:
    """Turn JSON values back into class labels.

    Parameters
    ----------
    packed : dict
        What :func:`pack_labels` made.

    Returns
    -------
    ndarray of shape (n_classes,)
        The labels, of the dtype they had.

    Examples
    --------
    >>> unpack_labels({"dtype": "<U3", "values": ["no", "yes"]})
    array(['no', 'yes'], dtype='<U3')
    """
    return np.array(packed["values"], dtype=np.dtype(packed["dtype"]))
