"""Parameter values keep their types in JSON; code is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import Normalizer

from sklearn_hashnlp.persistence._values import ModelFormatError, decode_value, encode_value
from sklearn_hashnlp.trees import random_tree


def round_trip(value: Any) -> Any:
    encoded = json.loads(
        json.dumps(encode_value(value, "it", lambda *_: "encoded"), allow_nan=False)
    )
    return decode_value(encoded, "it", lambda *_: "decoded")


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
hashable = st.recursive(scalars, lambda part: st.lists(part, max_size=3).map(tuple), max_leaves=5)
values = st.recursive(
    scalars | st.frozensets(st.text()) | st.sets(st.integers()),
    lambda part: (
        st.lists(part, max_size=3)
        | st.lists(part, max_size=3).map(tuple)
        | st.dictionaries(hashable, part, max_size=3)
    ),
    max_leaves=10,
)


@given(values)
def test_any_nesting_of_values_is_decoded_as_it_was(value: Any) -> None:
    def plain(part: Any) -> Any:  # the order in which a set prints is not its own
        if isinstance(part, set | frozenset):
            return type(part).__name__, sorted(map(repr, part))
        if isinstance(part, list | tuple):
            return type(part)(plain(item) for item in part)
        return {key: plain(item) for key, item in part.items()} if isinstance(part, dict) else part

    assert repr(plain(round_trip(value))) == repr(plain(value))


@pytest.mark.parametrize(
    "dtype",
    [np.float64, np.int32, np.bool_, np.dtype("float32"), np.dtype("uint8"), float, int, bool],
)
def test_dtypes_keep_their_types(dtype: Any) -> None:
    assert round_trip(dtype) is dtype or (
        round_trip(dtype) == dtype and isinstance(dtype, np.dtype)
    )


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.float64("inf"), float("inf")),
        (re.IGNORECASE, 2),
        (type("Words", (list,), {})(["a"]), ["a"]),
        (type("Words", (frozenset,), {})(["a"]), frozenset(["a"])),
    ],
)
def test_numpy_scalars_and_subclasses_become_plain(value: Any, plain: Any) -> None:
    assert round_trip(value) == plain
    assert type(round_trip(value)) is type(plain)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[0.1, np.inf], [np.nan, -0.0]]),
        np.array([1, 1, 2]),
        np.array([True, False]),
        np.float32([0.1]),
        np.array([2**64 - 1], dtype=np.uint64),
        np.array(0.5),
        np.empty((0, 3), dtype=np.float16),
        np.arange(6).reshape(2, 3).T,
    ],
    ids=repr,
)
def test_arrays_of_numbers_keep_dtype_and_shape(array: Any) -> None:
    decoded = round_trip(array)
    assert (decoded.dtype, decoded.shape, decoded.tobytes()) == (
        array.dtype,
        array.shape,
        array.tobytes(),
    )


def test_paths_are_paths() -> None:
    path = Path("folder", "checkpoints")
    restored = round_trip((path, None))
    assert restored == (path, None)
    assert isinstance(restored[0], Path)


def test_sets_are_written_in_one_order() -> None:
    words = [f"word{number}" for number in range(50)]
    assert encode_value(frozenset(words), "it", print) == encode_value(
        frozenset(reversed(words)), "it", print
    )


def test_estimators_are_encoded_by_the_callback() -> None:
    assert encode_value(Normalizer(), "it", lambda *_: "encoded") == {"estimator": "encoded"}
    assert round_trip([("norm", Normalizer())]) == [("norm", "decoded")]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (str.lower, r"cannot hold it: it is code \(lower\).*joblib\.dump"),
        (lambda text: text, r"it is code \(<lambda>\)"),
        (np.random.RandomState(0), "it is a random generator. Use an int as seed"),
        (np.random.default_rng(0), "it is a random generator"),
        (np.array(["a"]), "it is an array of <U1, not of numbers. Use a list"),
        ([{"a": object()}], r"it is of type builtins\.object.*joblib\.dump"),
        (b"bytes", r"builtins\.bytes"),
        (str, r"it is code \(str\)"),
        (np.dtype("O"), "dtype"),
        (Normalizer, r"it is code \(Normalizer\)"),
    ],
)
def test_values_that_a_folder_cannot_hold(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        encode_value(value, "it", print)


@pytest.mark.parametrize(
    "value",
    [
        {"tuple": 3},
        {"tuple": [], "list": []},
        {},
        {"set": [[1]]},
        {"dict": [1]},
        {"float": "much"},
        {"dtype": "object"},
        {"numpy_type": ["float64"]},
        {"type": "os.system"},
        {"call": "os.system"},
        {"array": []},
        {"array": ["object", [1], [0]]},
        {"array": [["int64"], [1], [0]]},
        {"array": ["int64", [2], [0]]},
        {"array": ["uint8", [1], [-1]]},
        {"array": ["float64", [1], [{"tuple": []}]]},
        {"array": ["float64", [1]]},
    ],
)
def test_damaged_values_are_named(value: Any) -> None:
    with pytest.raises(ModelFormatError, match="value of parameter 'p'"):
        decode_value(value, "parameter 'p'", print)


def test_trees_are_decoded_as_they_were() -> None:
    tree = random_tree(9, random_state=0)
    assert round_trip(tree) == tree
    assert round_trip([tree, None])[0] == tree


@pytest.mark.parametrize("damage", [{"offsets": [0]}, {"children": "x"}, {"children": [5]}, None])
def test_a_damaged_tree_is_no_model(damage: Any) -> None:
    encoded = (
        {
            "tree": {name: array.tolist() for name, array in random_tree(9).to_arrays().items()}
            | damage
        }
        if damage
        else {"tree": 3}
    )
    with pytest.raises(ModelFormatError, match="The value of it is damaged"):
        decode_value(encoded, "it", lambda *_: "decoded")
