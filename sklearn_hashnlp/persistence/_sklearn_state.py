"""State and parameters of scikit-learn's estimators in a model folder."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._sklearn import calibrated_classifier, isotonic_regression, prediction_calibrator
from sklearn_hashnlp.persistence._values import decode_labels

_STEPS = {"ColumnTransformer": "transformers", "FeatureUnion": "transformer_list", "Pipeline": "steps"}
_MAX_JOBS = 2**15
_PASSED = ("drop", "passthrough", None)


def check_parameters(name: str, values: dict[str, Any]) -> None:
    """Raise a ValueError for parameters of an estimator class that would fail later."""
    if name in _STEPS and _STEPS[name] in values:
        _check_steps(name, values[_STEPS[name]])
    if name == "FeatureUnion":
        weights = values.get("transformer_weights")
        is_dict = isinstance(weights, dict)
        if weights is not None and not (is_dict and all(type(weight) in (int, float) for weight in weights.values())):
            raise ValueError(f"'transformer_weights' must be a dict of numbers, got {weights!r:.60}.")
        n_jobs = values.get("n_jobs")
        if n_jobs is not None and not (isinstance(n_jobs, int) and abs(n_jobs) <= _MAX_JOBS):
            raise ValueError(f"'n_jobs' must be an integer up to {_MAX_JOBS} or None, got {n_jobs!r:.60}.")
    _check_vectorizer(values)


def _check_steps(name: str, steps: Any) -> None:
    parts = 3 if name == "ColumnTransformer" else 2
    if not isinstance(steps, list | tuple) or (name == "Pipeline" and not steps):
        raise ValueError(f"{_STEPS[name]!r} must be a list of steps, got {steps!r:.60}.")
    for index, step in enumerate(steps):
        if not isinstance(step, list | tuple) or len(step) != parts or not isinstance(step[0], str):
            raise ValueError(f"each of {_STEPS[name]!r} must be a name and an estimator, got {step!r:.60}.")
        is_last = name == "Pipeline" and index == len(steps) - 1
        part = step[1]
        if isinstance(part, str | None) and part in _PASSED:
            continue
        if not hasattr(part, "get_params") or not (is_last or hasattr(part, "transform")):
            raise ValueError(f"{step[0]!r} of {_STEPS[name]!r} must be a transformer, got {type(part).__name__}.")


def _check_vectorizer(values: dict[str, Any]) -> None:
    ngram_range = values.get("ngram_range", (1, 1))
    if not isinstance(ngram_range, list | tuple) or [type(n) for n in ngram_range] != [int, int]:
        raise ValueError(f"'ngram_range' must be two integers, got {ngram_range!r:.60}.")
    try:
        np.dtype(values.get("dtype", np.float64))
    except (SyntaxError, TypeError, ValueError) as error:
        raise ValueError(f"'dtype' must be a type of numbers, got {values['dtype']!r:.60}.") from error
    stop_words = values.get("stop_words")
    if isinstance(stop_words, list) and not all(isinstance(word, str) for word in stop_words):
        raise ValueError("'stop_words' must be a list of strings.")


SKLEARN_CLASSES: dict[str, str] = {
    "CalibratedClassifierCV": "sklearn.calibration",
    "ColumnTransformer": "sklearn.compose",
    "FrozenEstimator": "sklearn.frozen",
    "FunctionTransformer": "sklearn.preprocessing",
    "LinearSVC": "sklearn.svm",
    "LogisticRegression": "sklearn.linear_model",
    "OneHotEncoder": "sklearn.preprocessing",
    "SGDClassifier": "sklearn.linear_model",
    "StandardScaler": "sklearn.preprocessing",
    "TfidfTransformer": "sklearn.feature_extraction.text",
    "TruncatedSVD": "sklearn.decomposition",
}
"""The supported classes and their modules."""

# Attributes with their axes: f for input features, k for rows of coefficients, m for components; the arrays of an
# estimator must have matching sizes. "": a number. "?": the attribute may be None or missing.
_LINEAR = {"coef_": "kf", "intercept_": "k", "n_iter_": "?", "t_": "?"}
_ATTRIBUTES: dict[str, dict[str, str]] = {
    "FunctionTransformer": {},
    "LinearSVC": _LINEAR,
    "LogisticRegression": _LINEAR,
    "SGDClassifier": _LINEAR,
    "StandardScaler": {"mean_": "f?", "var_": "f?", "scale_": "f?", "n_samples_seen_": "?"},
    "TfidfTransformer": {"idf_": "f?"},
    "TruncatedSVD": {
        "components_": "mf",
        "explained_variance_": "m",
        "explained_variance_ratio_": "m",
        "singular_values_": "m",
    },
}
_OF_COLUMN_TRANSFORMER = ("transformers_", "sparse_output_", "_columns", "_transformer_to_input_indices", "_remainder")
_OF_CALIBRATORS = {"sigmoid": ("a_", "b_"), "temperature": ("beta_",)}


def has_state(estimator: Any) -> bool:
    """Return whether an estimator is a supported one of scikit-learn with learned state."""
    name = type(estimator).__name__
    return name in _ATTRIBUTES or name in ("CalibratedClassifierCV", "ColumnTransformer", "OneHotEncoder")


def get_state(estimator: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the learned attributes of a fitted estimator."""
    name = type(estimator).__name__
    values: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for attribute in ("n_features_in_", *_ATTRIBUTES.get(name, {})):
        value = getattr(estimator, attribute, None)
        if isinstance(value, np.ndarray) and value.ndim:
            arrays[attribute] = value
        elif value is not None:
            values[attribute] = value
    if hasattr(estimator, "feature_names_in_"):
        values["feature_names_in_"] = estimator.feature_names_in_.tolist()
    if hasattr(estimator, "classes_"):
        values["classes_"] = {"dtype": estimator.classes_.dtype.str, "values": estimator.classes_.tolist()}
    if name == "CalibratedClassifierCV":
        values["calibrated"] = [_calibrated_values(part) for part in estimator.calibrated_classifiers_]
    if name == "ColumnTransformer":
        values |= {attribute: getattr(estimator, attribute) for attribute in _OF_COLUMN_TRANSFORMER}
        values["output_indices_"] = {key: (part.start, part.stop) for key, part in estimator.output_indices_.items()}
    if name == "OneHotEncoder":
        if estimator._infrequent_enabled:
            raise TypeError(
                "A model folder cannot hold a OneHotEncoder that groups infrequent categories. Set min_frequency=None "
                "and max_categories=None, or use joblib.dump(model, path) instead."
            )
        values["categories_"] = [{"dtype": part.dtype.str, "values": part.tolist()} for part in estimator.categories_]
        values["drop_idx_"] = None if estimator.drop_idx_ is None else estimator.drop_idx_.tolist()
    return values, arrays


def set_state(estimator: Any, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Set the result of :func:`get_state`; raise a ValueError, TypeError or KeyError if it does not match."""
    name = type(estimator).__name__
    values = dict(values)
    if (
        "n_features_in_" in values or _ATTRIBUTES.get(name) or name == "OneHotEncoder"
    ):  # meta-estimators over strings do not have it
        estimator.n_features_in_ = _integer(values.pop("n_features_in_"), "n_features_in_")
    if "feature_names_in_" in values:
        names = values.pop("feature_names_in_")
        if not isinstance(names, list) or not all(isinstance(value, str) for value in names):
            raise TypeError("feature_names_in_ must be a list of strings")
        estimator.feature_names_in_ = np.array(names, dtype=object)
        if len(estimator.feature_names_in_) != estimator.n_features_in_:
            raise ValueError("feature_names_in_ must have a name for each feature")
    if "classes_" in values:
        packed = values.pop("classes_")
        estimator.classes_ = decode_labels(packed["values"], packed["dtype"])
    _set_arrays(estimator, _ATTRIBUTES.get(name, {}), values, arrays)
    if name == "CalibratedClassifierCV":
        parts = values.pop("calibrated")
        estimator.calibrated_classifiers_ = [_calibrated(part, estimator) for part in parts]
    if name == "ColumnTransformer":
        _set_transformers(estimator, values)
    if name == "OneHotEncoder":
        _set_encoder(estimator, values)
    if values:
        raise ValueError(f"unknown attributes: {sorted(values)}")


def _set_arrays(
    estimator: Any, attributes: dict[str, str], values: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> None:
    """Set numeric attributes, after checking that the sizes of their axes match."""
    sizes = {"f": getattr(estimator, "n_features_in_", None)}
    for attribute, wanted in attributes.items():
        value = arrays.get(attribute, values.pop(attribute, None))
        axes = wanted.removesuffix("?")
        if value is None and wanted.endswith("?"):
            continue
        if isinstance(value, bool) or not isinstance(value, int | float | np.ndarray):
            raise TypeError(f"{attribute} must be an array of numbers, got {type(value).__name__}")
        if axes and not (axes == "k" and np.ndim(value) == 0):  # the intercept of a model without one is a number
            if np.ndim(value) != len(axes) or np.asarray(value).dtype.kind != "f":
                raise ValueError(f"{attribute} must be an array of floats with {len(axes)} axes")
            for axis, size in zip(axes, np.shape(value), strict=True):
                if sizes.setdefault(axis, size) not in (size, None):
                    raise ValueError(f"{attribute} has shape {np.shape(value)}, which does not fit")
        setattr(estimator, attribute, value)
    if "k" in sizes and sizes["k"] != (1 if len(estimator.classes_) == 2 else len(estimator.classes_)):
        raise ValueError("coef_ must have a row for each class, or one row for two classes")
    if set(arrays) - set(attributes):
        raise ValueError(f"unknown arrays: {sorted(set(arrays) - set(attributes))}")


def _calibrated_values(part: Any) -> dict[str, Any]:
    """Return a classifier and its calibrators, one per class, as plain values."""
    if part.method == "isotonic":
        calibrators: list[Any] = [
            {
                "X_thresholds_": calibrator.X_thresholds_.tolist(),
                "y_thresholds_": calibrator.y_thresholds_.tolist(),
                "dtypes": (calibrator.X_thresholds_.dtype, calibrator.y_thresholds_.dtype),
                "increasing_": bool(calibrator.increasing_),
            }
            for calibrator in part.calibrators
        ]
    else:
        names = _OF_CALIBRATORS[part.method]
        calibrators = [{name: float(getattr(calibrator, name)) for name in names} for calibrator in part.calibrators]
    return {"estimator": part.estimator, "method": part.method, "calibrators": calibrators}


def _calibrated(values: dict[str, Any], owner: Any) -> Any:
    """Build a classifier with its calibrators."""
    method, calibrators = values["method"], []
    n_classes = len(owner.classes_)
    if len(values["calibrators"]) != (1 if n_classes == 2 or method == "temperature" else n_classes):
        raise ValueError("there must be a calibrator for each class, or one for two classes")
    if not hasattr(values["estimator"], "predict"):
        raise TypeError("the calibrated estimator must be a classifier")
    if len(getattr(values["estimator"], "classes_", owner.classes_)) != n_classes:
        raise ValueError(f"the calibrated estimator must have the {n_classes} classes of the whole")
    for part in values["calibrators"]:
        if method == "isotonic":
            x, y = (
                np.array(part[key], dtype=dtype)
                for key, dtype in zip(("X_thresholds_", "y_thresholds_"), part["dtypes"], strict=True)
            )
            if x.ndim != 1 or x.shape != y.shape or len(x) == 0 or x.dtype.kind != "f" or (np.diff(x) < 0).any():
                raise ValueError("the thresholds of an isotonic calibrator must be ascending numbers")
            calibrators.append(isotonic_regression(x, y, increasing=bool(part["increasing_"])))
        else:
            numbers = {name: float(part[name]) for name in _OF_CALIBRATORS[method]}
            calibrators.append(prediction_calibrator(method, numbers))
    return calibrated_classifier(values["estimator"], calibrators, owner.classes_, method)


def _set_transformers(estimator: Any, values: dict[str, Any]) -> None:
    for name, transformer, _ in values["transformers_"]:
        if not isinstance(name, str) or not (
            transformer in ("drop", "passthrough") or hasattr(transformer, "transform")
        ):
            raise TypeError("transformers_ must hold triples of a name, a transformer and columns")
    for attribute in _OF_COLUMN_TRANSFORMER:
        setattr(estimator, attribute, values.pop(attribute))
    indices = values.pop("output_indices_")
    estimator.output_indices_ = {
        str(key): slice(_integer(start, key), _integer(stop, key)) for key, (start, stop) in indices.items()
    }


def _set_encoder(encoder: Any, values: dict[str, Any]) -> None:
    encoder.categories_ = [_categories(packed["values"], packed["dtype"]) for packed in values.pop("categories_")]
    dropped = values.pop("drop_idx_")
    sizes = [len(part) for part in encoder.categories_]
    if len(sizes) != encoder.n_features_in_:
        raise ValueError("categories_ must have an entry for each feature")
    if dropped is not None:
        if len(dropped) != len(sizes):
            raise ValueError("drop_idx_ must have an entry for each feature")
        for index, size in zip(dropped, sizes, strict=True):
            if index is not None and _integer(index, "drop_idx_") >= size:
                raise ValueError(f"drop_idx_ has {index} for {size} categories")
        sizes = [size - (index is not None) for size, index in zip(sizes, dropped, strict=True)]
        dropped = np.array(dropped, dtype=object)
    encoder.drop_idx_ = encoder._drop_idx_after_grouping = dropped
    encoder._infrequent_enabled = False
    encoder._n_features_outs = sizes


def _categories(values: list[Any], dtype: Any) -> NDArray[Any]:
    """Return the categories of a column, which may include None."""
    is_known = [value is not None for value in values]
    known = decode_labels([value for value in values if value is not None], dtype)
    if all(is_known):
        return known
    if known.dtype != object:
        raise ValueError("None is a category of objects only")
    categories = np.full(len(values), None, dtype=object)
    categories[is_known] = known
    return categories


def _integer(value: Any, name: str) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{name} must be an integer of at least 0, got {value!r}")
    return value
