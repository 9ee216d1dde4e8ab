"""Labels of a classifier: checked, encoded for a net, and saved."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from numbers import Number
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from sklearn_hashnlp.classifiers._losses import LOSSES, LossChoice, takes_several_labels
from sklearn_hashnlp.datasets._label_checks import find_list, warn_of_twins, warn_user
from sklearn_hashnlp.persistence._values import decode_labels
from sklearn_hashnlp.text._documents import as_plain_list
from sklearn_hashnlp.training._check_unchanged import cannot_continue

_MAX_NAMED = 20  # labels in a message
_LISTS = (list, tuple, set, frozenset)
_TOLERANCE = 1e-3  # of the sum of soft labels
_SOFT = next(name for name, loss in LOSSES.items() if loss.takes_soft_labels)
# The name of the loss, for messages
_MULTILABEL = next(name for name, loss in LOSSES.items() if loss.takes_several_labels)


@dataclass(frozen=True)
class Labels:
    """The labels of a classifier, which it encodes as their indices."""

    # (n_classes,): sorted, or in the order of the columns of an indicator matrix
    classes: NDArray[Any]
    multilabel: bool  # whether y is an indicator matrix
    lists: bool = False  # whether y was lists of labels, and predictions will be
    soft: bool = False  # whether y is a probability of each class

    @classmethod
    def of(cls, y: Any, classes: ArrayLike | None = None, *, caller: str) -> Self:
        """Return the labels in ``classes`` or else in y; column indices of an indicator matrix."""
        if y.ndim == 2:
            indices = np.arange(y.shape[1])
            if classes is not None and not np.array_equal(classes, indices):
                raise ValueError(
                    f"With an indicator matrix of {len(indices)} columns classes must be None or "
                    f"their indices, 0 to {len(indices) - 1} in order. Got {classes!r}."
                )
            return cls(indices, multilabel=True)
        labels = _unique(y, "y", caller) if classes is None else _unique_classes(classes, caller)
        if len(labels) < 2:
            where = (
                "rows of at least two classes in y"
                if classes is None
                else "at least two labels in classes"
            )
            got = f"one class only: {labels.tolist()[0]!r}" if len(labels) else "none"
            raise ValueError(
                f"{caller} needs {where}, got {got}. Check that y holds the labels and "
                "that the rows were not sorted and cut."
            )
        return cls(labels, multilabel=False)

    def encode(self, y: Any, *, may_add: bool = False) -> NDArray[Any]:
        """Encode the labels of rows as indices, or an indicator matrix as float32.

        ``may_add`` is for the error: whether labels could have been added to a trained model.
        """
        if self.soft:
            return np.asarray(y, dtype=np.float32)
        n_known = len(self.classes)
        is_wider = self.multilabel and y.ndim == 2 and y.shape[1] > n_known
        if may_add and is_wider and np.array_equal(self.classes, np.arange(n_known)):
            raise _unseen(list(range(n_known, y.shape[1])), self.classes, may_add=True)
        if self.multilabel != (y.ndim == 2) or (
            self.multilabel and y.shape[1] != len(self.classes)
        ):
            several = (
                "lists of labels"
                if self.lists
                else f"an indicator matrix of {len(self.classes)} columns"
            )
            wanted = several if self.multilabel else "one label per row"
            raise ValueError(f"The model was fitted with {wanted} in y, got y of shape {y.shape}.")
        if self.multilabel:
            return np.asarray(y.toarray() if issparse(y) else y, dtype=np.float32)
        index_of = {label: index for index, label in enumerate(self.classes.tolist())}
        present, inverse = np.unique(y, return_inverse=True)
        unseen = [label for label in present.tolist() if label not in index_of]
        if unseen:
            raise _unseen(unseen, self.classes, may_add=may_add)
        return np.array([index_of[label] for label in present.tolist()], dtype=np.int64)[
            inverse.reshape(-1)
        ]

    def warn_of_strings(self, caller: str) -> None:
        """Warn of labels that are lists as text, and of labels that look the same."""
        names: list[Any] = self.classes.tolist()
        if not all(isinstance(name, str) for name in names):
            return
        label = find_list(names)
        if label is not None:
            warn_user(
                f"{caller}: the label {label[:60]!r} is a list or an object written as text, and "
                "is one label. For several labels per row pass lists: [ast.literal_eval(label) "
                "for label in y]."
            )
        warn_of_twins(names, caller)

    def is_part_of(self, others: Labels) -> bool:
        """Return whether others have all of these labels and more, in rows of the same kind."""
        return (self.multilabel, self.soft) == (others.multilabel, others.soft) and set(
            self.classes.tolist()
        ) < set(others.classes.tolist())

    def in_type_of(self, known: Labels) -> Labels:
        """Return the labels in the number type of the known ones, if they are equal in it."""
        wanted, given = known.classes.dtype, self.classes.dtype
        if wanted == given or not {wanted.kind, given.kind} <= set("biuf"):
            return self
        with np.errstate(invalid="ignore"):
            classes = self.classes.astype(wanted)
        return replace(self, classes=classes) if np.array_equal(classes, self.classes) else self

    def check_kept(self, classes: ArrayLike, caller: str) -> None:
        """Check that ``classes`` has all of these labels, which a model was trained with."""
        given = _unique_classes(classes, caller).tolist()
        missing = [label for label in self.classes.tolist() if label not in given]
        if missing:
            new = [label for label in given if label not in self.classes.tolist()]
            raise ValueError(
                f"{caller} cannot remove labels from a trained model: classes lacks "
                f"{name_labels(missing)}. Call {_call_to_add(new)}, or call fit on all rows."
            )

    def check_same(self, others: Labels, estimator: Any) -> None:
        """Check that the training of an estimator can continue with rows with these labels."""
        if self.multilabel != others.multilabel or self.classes.tolist() != others.classes.tolist():
            known, new = (
                f"with {'several of ' if one.multilabel else ''}the labels {one.classes.tolist()}"
                for one in (self, others)
            )
            remedy = "Pass the same labels, columns of a matrix in the same order"
            raise cannot_continue(estimator, new, known, remedy)


def has_label_lists(y: Any) -> bool:
    """Return whether y has a list, tuple or set per row, and is not a nested indicator matrix."""
    if len(getattr(y, "shape", (0,))) != 1 or (isinstance(y, np.ndarray) and y.dtype != object):
        return False
    rows = _as_list(y)
    if not rows or not isinstance(rows[0], _LISTS):
        return False
    lengths = {len(row) if isinstance(row, _LISTS) else 0 for row in rows}
    is_matrix = len(lengths) == 1 and min(lengths) > 1
    is_matrix = is_matrix and all(type(value) in (int, bool, float) for value in chain(*rows))
    return not (is_matrix and set(chain(*rows)) <= {0, 1})


def read_targets(
    y: Any,
    *,
    classes: ArrayLike | None = None,
    known: Labels | None = None,
    soft: bool = False,
    may_add: bool = False,
    caller: str,
) -> tuple[Any, Labels | None]:
    """Return y as an array or matrix, and its labels for lists, a frame or ``soft`` labels.

    ``may_add`` is for errors: whether labels could have been added to a trained model.
    """
    of_rows = known.classes if classes is None and known is not None else classes
    if soft:
        return _read_soft_labels(y, of_rows, caller, may_add=may_add)
    if has_label_lists(y):
        return _binarize(_as_list(y), of_rows, caller, may_add=may_add)
    if len(getattr(y, "shape", ())) == 2 and hasattr(y, "columns") and y.shape[1] > 1:
        names = _as_array(list(y.columns))
        if len(set(names.tolist())) < len(names):
            raise ValueError(
                f"{caller} needs columns of y with different names, got {names.tolist()}."
            )
        if classes is not None and set(plain_labels(classes)) != set(names.tolist()):
            raise ValueError(
                f"classes must be None or the columns of y, {names.tolist()}. Got {classes!r}."
            )
        if may_add and known is not None and known.is_part_of(Labels(names, multilabel=True)):
            new = [name for name in names.tolist() if name not in known.classes.tolist()]
            raise _unseen(new, known.classes, may_add=True)
        values = y.to_numpy()
        # nullable types of pandas
        values = np.array(values.tolist()) if values.dtype == object else values
        if known is not None and known.multilabel:
            column_of = {name: column for column, name in enumerate(names.tolist())}
            if set(column_of) == set(known.classes.tolist()):  # in any order
                values = values[:, [column_of[label] for label in known.classes.tolist()]]
                names = known.classes
        return values, Labels(names, multilabel=True)
    _refuse_missing(y, caller)
    return plain_labels(y), None


def _read_soft_labels(
    y: Any, classes: ArrayLike | None, caller: str, *, may_add: bool
) -> tuple[NDArray[np.float32], Labels]:
    """Return the probabilities of the classes of each row, checked, and the classes."""
    columns = list(y.columns) if hasattr(y, "columns") else None
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    if len(shape) != 2 or shape[1] < 2:
        raise ValueError(
            f"{caller}(loss={_SOFT!r}) takes a probability of each class for each row of y, an "
            f"array of shape (n_samples, n_classes). Got one of shape {tuple(shape)}. For one "
            "label per row set another loss."
        )
    n_classes = shape[1]
    matrix = check_array(y, dtype=np.float32, ensure_min_samples=0, input_name="y")
    labels = _as_array(list(range(n_classes)) if classes is None else list(plain_labels(classes)))
    if columns is not None and columns != list(range(n_classes)):
        if classes is None:
            labels = _as_array(columns)
        elif set(columns) != set(labels.tolist()):
            raise ValueError(
                f"{caller} takes a frame with the columns {labels.tolist()} in y, got {columns}."
            )
        else:
            matrix = matrix[:, [columns.index(label) for label in labels.tolist()]]
    if labels.shape != (n_classes,) or len(set(labels.tolist())) < n_classes:
        raise ValueError(
            f"{caller} takes as many different classes as y has columns, {n_classes}, in their "
            f"order. Got {labels.tolist()}."
            + (f" To add labels call {_call_to_add([])}." if may_add else "")
        )
    wrong = np.flatnonzero(
        (matrix < 0).any(axis=1) | (np.abs(matrix.sum(axis=1, dtype=np.float64) - 1) > _TOLERANCE)
    )
    if len(wrong):
        raise ValueError(
            f"{caller}(loss={_SOFT!r}) takes probabilities in y: at least 0, with a sum of 1 in "
            f"each row. Row {wrong[0]} is {matrix[wrong[0]].tolist()}."
        )
    return matrix, Labels(labels, multilabel=False, soft=True)


def as_class_list(classes: Any, caller: str) -> Any:
    """Return the labels of the parameter ``classes`` so that they can be read more than once."""
    if isinstance(classes, str | bytes) or not (classes is None or isinstance(classes, Iterable)):
        raise TypeError(
            f"{caller}: classes must be a list of labels, such as [{classes!r:.60}], got "
            f"{classes!r:.60}."
        )
    return classes if classes is None or hasattr(classes, "dtype") else list(classes)


def _unique_classes(classes: Any, caller: str) -> NDArray[Any]:
    values = plain_labels(classes)
    return _unique(
        np.asarray(values) if hasattr(values, "dtype") else _as_array(list(values)),
        "classes",
        caller,
    )


def plain_labels(labels: Any) -> Any:
    """Convert labels of pandas's nullable types to integers or bools, and numpy's StringDType."""
    if getattr(getattr(labels, "dtype", None), "kind", None) == "T":
        return _as_array(labels.tolist())
    return labels.to_numpy(dtype=labels.dtype.type) if _is_nullable(labels) else labels


def _is_nullable(labels: Any) -> bool:
    dtype = getattr(labels, "dtype", None)
    return not isinstance(dtype, np.dtype) and getattr(dtype, "kind", None) in ("b", "i", "u")


def read_indicator(
    y: Any, classes: NDArray[Any], *, caller: str
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return multilabel targets as an indicator matrix, and a mask of rows with known labels."""
    if has_label_lists(y):
        rows, known = [set(row) for row in _as_list(y)], set(classes.tolist())
        matrix = MultiLabelBinarizer(classes=classes.tolist()).fit_transform(
            [row & known for row in rows]
        )
        return matrix > 0, np.array([row <= known for row in rows])
    y, named = read_targets(y, caller=caller)
    matrix = y.toarray() if issparse(y) else np.asarray(y)
    if matrix.ndim != 2 or matrix.shape[1] != len(classes):
        raise ValueError(
            f"{caller} was fitted with several labels per row, {len(classes)} in all, and takes "
            "lists of labels or an indicator matrix of as many columns in y. Got y of shape "
            f"{matrix.shape}."
        )
    if named is not None and set(named.classes.tolist()) == set(classes.tolist()):
        column_of = {name: index for index, name in enumerate(named.classes.tolist())}
        matrix = matrix[:, [column_of[name] for name in classes.tolist()]]
    elif named is not None and not np.array_equal(classes, np.arange(len(classes))):
        raise ValueError(
            f"{caller} has the labels {classes.tolist()}, but y has the columns "
            f"{named.classes.tolist()}."
        )
    return matrix > 0, np.ones(len(matrix), dtype=np.bool_)


def _as_list(y: Any) -> list[Any]:
    rows = as_plain_list(y)
    rows = list(rows) if isinstance(rows, Iterable) else []
    if rows and isinstance(rows[0], np.ndarray):  # as pandas reads lists from Parquet files
        rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]
    return rows


def _refuse_missing(y: Any, caller: str) -> None:
    """Raise an error for missing labels; scikit-learn only checks for NaN in numbers."""
    if isinstance(y, list | tuple) or _is_nullable(y):
        labels = list(y)  # numpy would make strings of missing labels and of numbers among strings
    else:
        array = np.asarray(y) if hasattr(y, "__array__") else np.empty(0)
        labels = array.tolist() if array.dtype.kind in "OT" and array.ndim == 1 else []
    types = set(map(type, labels))
    if types in ({str}, {int}):
        return
    for row, label in enumerate(labels):
        if (
            label is None
            or type(label).__name__ == "NAType"
            or (isinstance(label, float) and label != label)
        ):
            raise ValueError(
                f"{caller}: the label in row {row} of y is missing ({label!r}). Drop such rows "
                "first."
            )
    is_number = [issubclass(kind, Number | np.number | np.bool_) for kind in types]
    if any(is_number) and any(issubclass(kind, str) for kind in types):
        raise _mixed(labels, "y", caller)


def _binarize(
    rows: list[Any], classes: ArrayLike | None, caller: str, *, may_add: bool
) -> tuple[Any, Labels]:
    """Return lists of labels as an indicator matrix, and its labels."""
    for index, row in enumerate(rows):
        if not isinstance(row, _LISTS):
            raise ValueError(
                f"{caller} takes a list of labels for each row of y or for none, got {row!r} in "
                f"row {index}."
            )
    present = set(chain(*rows))
    labels = (
        _unique(_as_array(list(present)), "y", caller)
        if classes is None
        else _unique_classes(classes, caller)
    )
    if len(labels) == 0:
        raise ValueError(f"{caller} needs labels to train, got only empty lists in y.")
    unseen = present - set(labels.tolist())
    if unseen:
        new = [label.item() if isinstance(label, np.generic) else label for label in unseen]
        raise _unseen(sorted(new, key=str), labels, may_add=may_add)
    binarizer = MultiLabelBinarizer(classes=labels.tolist(), sparse_output=True)
    return binarizer.fit_transform(rows), Labels(labels, multilabel=True, lists=True)


def as_label_lists(indicator: NDArray[np.int64], classes: NDArray[Any]) -> NDArray[np.object_]:
    """Return an array of lists of labels."""
    lists = np.empty(len(indicator), dtype=object)
    for index, row in enumerate(indicator):
        lists[index] = classes[row > 0].tolist()
    return lists


def _as_array(labels: list[Any]) -> NDArray[Any]:
    """Return labels as an array, without converting numbers to strings."""
    kinds = {isinstance(label, str) for label in labels}
    return np.array(labels, dtype=object if len(kinds) > 1 else None)


def check_targets(
    y: Any, named: Labels | None, *, loss: LossChoice, caller: str, is_batch: bool = False
) -> Any:
    """Return y checked: an array of labels or, with ``loss="ova"``, an indicator matrix."""
    if named is not None and named.soft:
        return y
    from_lists = named is not None and named.lists  # an indicator matrix, of one distinct label too
    if issparse(y) and y.shape[1] == 1 and not from_lists:
        raise ValueError(
            f"{caller} takes one label per row as an array of shape (n_samples,), got a sparse "
            f"matrix of one column, of shape {y.shape}, in y. Give y.toarray().ravel()."
        )
    if issparse(y) or (y.ndim == 2 and y.shape[1] > 1):
        if issparse(y) and not y.has_canonical_format:
            y = y.copy()
            y.sum_duplicates()
        kind = "multilabel-indicator" if from_lists else type_of_target(y, input_name="y")
        values = np.unique(y.data if issparse(y) else y)
        others = values[~np.isin(values, (0, 1))]
        if kind != "multilabel-indicator" or len(others):
            raise ValueError(
                f"Unknown label type: {kind}. {caller} takes one label per row or, with "
                f"loss={_MULTILABEL!r}, a matrix of zeros and ones with one column per class. Got "
                f"a matrix with the values {others[:3].tolist()} (duplicate entries of a sparse "
                f"matrix are summed). For probabilities set loss={_SOFT!r}."
            )
        if not takes_several_labels(loss):
            raise ValueError(
                f"{caller}(loss={loss!r}) takes one label per row, got several in y: lists of "
                f"labels, or an indicator matrix, of shape {y.shape}. Set loss={_MULTILABEL!r} for "
                "multi-label classification."
            )
        return y
    y = column_or_1d(y, warn=True)
    _unique(y, "y", caller)
    with warnings.catch_warnings():
        if is_batch:  # most rows of a small batch may have different labels
            warnings.filterwarnings(
                "ignore", "The number of unique classes is greater than 50%", UserWarning
            )
        check_classification_targets(y)
    return y


def _unseen(labels: list[Any], classes: NDArray[Any], *, may_add: bool) -> ValueError:
    named = (
        f"label {labels[0]!r} in y was"
        if len(labels) == 1
        else f"labels {name_labels(labels)} in y were"
    )
    remedy = (
        f"To add {'it' if len(labels) == 1 else 'them'} to the model call {_call_to_add(labels)}; "
        "or call fit on all rows."
        if may_add
        else "Pass all labels that can occur in any call as classes."
    )
    return ValueError(
        f"The {named} not seen before: the labels are {name_labels(classes)}. {remedy}"
    )


def _call_to_add(labels: list[Any]) -> str:
    """Return the call that adds labels to a trained model, for messages; dots stand for others."""
    names = ["*model.classes_", *map(repr, labels[:_MAX_NAMED])]
    if not 0 < len(labels) <= _MAX_NAMED:
        names.append("...")
    return f"partial_fit(X, y, classes=[{', '.join(names)}])"


def _unique(labels: NDArray[Any], name: str, caller: str) -> NDArray[Any]:
    try:
        return np.unique(labels)
    except TypeError as error:
        raise _mixed(labels.ravel().tolist(), name, caller) from error


def _mixed(labels: list[Any], name: str, caller: str) -> TypeError:
    kinds = sorted({type(label).__name__ for label in labels})
    return TypeError(
        f"{caller} takes labels that are all strings or all numbers in {name}, got "
        f"{' and '.join(kinds)}. Convert them to one type."
    )


def pack_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Convert class labels to JSON values."""
    values = [
        value.item() if isinstance(value, np.generic) else value for value in classes.tolist()
    ]
    for value in values:
        if not isinstance(value, str | int | float):
            raise TypeError(
                f"Class labels of type {type(value).__name__!r} cannot be saved; "
                "use strings, integers, floats or bools."
            )
    return {"dtype": classes.dtype.str, "values": values}


def unpack_labels(packed: dict[str, Any]) -> NDArray[Any]:
    """Convert JSON values back to class labels."""
    return decode_labels(packed["values"], packed["dtype"])


def name_labels(classes: NDArray[Any] | list[Any]) -> str:
    """Format labels for a message, the first of many."""
    more = f" and {len(classes) - _MAX_NAMED:,} more" if len(classes) > _MAX_NAMED else ""
    first = classes[:_MAX_NAMED]
    return f"{first if isinstance(first, list) else first.tolist()}{more}"
