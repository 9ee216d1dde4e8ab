"""Parameters of all public estimators: declared, checked, stored untouched, cloned."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from contextlib import suppress
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import torch
from sklearn.base import BaseEstimator, clone
from sklearn.utils import estimator_checks, estimator_html_repr
from sklearn.utils._param_validation import generate_invalid_param_val, make_constraint

import sklearn_hashnlp
from tests.contract.estimators import CASES, NETS, ONE_OF_A_KIND, answers, fit, fitted, kind, refit
from tests.trainings import assert_same_bits

CHECKS = [
    estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_estimator_tags_renamed,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_mixin_order,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_set_params,
    estimator_checks.check_valid_tag_types,
]
NO_DEFAULTS = {
    "InterpolatedLanguageModel",
    "NgramVectorUnion",
    "SGNNWordProjector",
}  # they are made of estimators that must be given
GIVEN = {"encoders", "featurizer", "models", "projector", "vectorizer"}
POSITIONAL = {*NO_DEFAULTS, "QuantizedSGNNClassifier"}
FREE_STRINGS = {
    ("FrequentNgramVectorizer", "token_pattern"),
    ("FastTextVectorizer", "label_prefix"),
}
UNCHECKED = {("HashingNgramVectorizer", "dtype")}  # as in scikit-learn's HashingVectorizer


def public_names():
    """Yield the names and values of every ``__all__`` of the package, of all folders and files that
    are public.
    """
    prefix = f"{sklearn_hashnlp.__name__}."
    modules = [module.name for module in pkgutil.walk_packages(sklearn_hashnlp.__path__, prefix)]
    for module in [
        sklearn_hashnlp.__name__,
        *(name for name in modules if "._" not in name and ".__" not in name),
    ]:
        folder = importlib.import_module(module)
        for name in getattr(folder, "__all__", ()):
            yield name, getattr(folder, name)


def test_the_table_has_every_public_estimator():
    public = dict(public_names())
    methods = ("fit", "transform")  # bundles of parameters and callbacks have none
    estimators = {
        name: entry
        for name, entry in public.items()
        if hasattr(entry, "get_params") and any(hasattr(entry, method) for method in methods)
    }
    made = {"FastTextVectorizer", "NgramVectorUnion"}  # by load_fasttext and for pretrained=
    assert {
        name: type(CASES[name].make()) for name in ONE_OF_A_KIND if name not in made
    } == estimators
    assert all(issubclass(entry, BaseEstimator) for entry in estimators.values())


MAKERS = {"make_text_classifier", "make_fasttext_classifier"}


def test_the_table_has_every_public_function_that_makes_an_estimator():
    functions = {name: entry for name, entry in public_names() if inspect.isfunction(entry)}
    results = {
        name: str(inspect.signature(entry).return_annotation) for name, entry in functions.items()
    }
    makers = {name for name, result in results.items() if "Pipeline" in result}
    assert "load_fasttext" in makers  # of a model that was fitted by another program
    assert (
        makers - {"load_fasttext"} == {kind(name) for name in CASES} - set(ONE_OF_A_KIND) == MAKERS
    )


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_scikit_learns_checks_that_need_no_data_pass(name, check):
    if check is estimator_checks.check_parameters_default_constructible and name in NO_DEFAULTS:
        with pytest.raises(TypeError, match="missing"):
            type(CASES[name].make())()
    else:
        check(name, CASES[name].make())


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_defaults_are_those_of_the_signature(name):
    cls = type(CASES[name].make())
    parameters = inspect.signature(cls).parameters
    given = GIVEN if name in NO_DEFAULTS else set()
    model = cls(**{part: None for part in given if part in parameters})
    for parameter in parameters.values():
        if parameter.name not in given:
            assert getattr(model, parameter.name) is parameter.default
    keywords = {
        parameter.name
        for parameter in parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    assert keywords == set(parameters) or name in POSITIONAL
    with pytest.raises(ValueError, match="Invalid parameter 'widht'"):
        model.set_params(widht=3)


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_constraints_are_those_of_all_parameters_and_no_others(name):
    cls = type(CASES[name].make())
    assert set(cls._parameter_constraints) == set(inspect.signature(cls).parameters)


def values_against(constraints):
    """Return values that satisfy none of the constraints of a parameter, at least one for each that
    has any.
    """
    made = [make_constraint(constraint) for constraint in constraints]
    candidates = [
        None,
        True,
        -1,
        0,
        0.5,
        2**70,
        float("nan"),
        float("inf"),
        "no choice",
        [],
        {},
        (),
        object,
        object(),
    ]
    for constraint in made:
        for value in (getattr(constraint, "left", None), getattr(constraint, "right", None)):
            candidates += [] if value is None else [value, value - 1, value + 1]
        with suppress(NotImplementedError):
            candidates.append(generate_invalid_param_val(constraint))
    return [
        value
        for value in candidates
        if not any(constraint.is_satisfied_by(value) for constraint in made)
    ]


CHECKED = [
    (name, parameter)
    for name in ONE_OF_A_KIND
    for parameter in type(CASES[name].make())._parameter_constraints
    if (name, parameter) not in UNCHECKED
]


@pytest.mark.parametrize(("name", "parameter"), CHECKED)
def test_every_value_against_the_constraints_is_refused_by_name(name, parameter):
    constraints = type(CASES[name].make())._parameter_constraints[parameter]
    values = values_against(constraints)
    assert values
    for value in values:
        with pytest.raises((ValueError, TypeError)) as caught:
            fit(name, **{parameter: value})
        assert parameter in str(caught.value), value
        assert name in str(caught.value), value


@pytest.mark.parametrize("name", CASES)
def test_a_clone_has_the_parameters_and_nothing_learned(name):
    model = fitted(name)
    copy = clone(model)
    assert repr(copy) == repr(model)
    assert not [attribute for attribute in vars(copy) if attribute.endswith("_")]
    assert set(vars(copy)) == set(vars(CASES[name].make()))
    assert type(model).__name__ in estimator_html_repr(model)


def literals(hint):
    """Return the strings of all ``Literal`` in a type."""
    if get_origin(hint) is Literal:
        return {choice for choice in get_args(hint) if isinstance(choice, str)}
    return set().union(*map(literals, get_args(hint)))


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_type_checkers_know_the_choices_of_each_parameter(name):
    estimator = type(CASES[name].make())
    hints = get_type_hints(estimator.__init__)
    for parameter, constraints in estimator._parameter_constraints.items():
        choices = {
            choice for constraint in constraints for choice in getattr(constraint, "options", ())
        }
        if (name, parameter) not in FREE_STRINGS:
            assert literals(hints[parameter]) == {
                choice for choice in choices if isinstance(choice, str)
            }, parameter


def devices(name):
    """Return the parameters of a model, and of its parts, that are a device."""
    return [
        parameter
        for parameter in CASES[name].make().get_params()
        if parameter.split("__")[-1] == "device"
    ]


@pytest.mark.parametrize("name", [name for name in CASES if kind(name) == name and devices(name)])
def test_every_device_may_be_auto_and_cuda_is_refused_where_there_is_none(name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match=r"\w\(device='cuda'\) needs a device.*device='cpu'\.$"):
        answers(
            name, refit(name, CASES[name].make().set_params(**dict.fromkeys(devices(name), "cuda")))
        )
    model = refit(name, CASES[name].make().set_params(**dict.fromkeys(devices(name), "auto")))
    assert name not in NETS or str(model.net_.device) == "cpu"
    assert_same_bits(answers(name, model), answers(name, fitted(name)))


def test_every_function_with_a_device_is_in_the_table():
    functions = {name: entry for name, entry in public_names() if inspect.isfunction(entry)}
    have_one = {
        name for name, entry in functions.items() if "device" in inspect.signature(entry).parameters
    }
    assert have_one <= {name for name in CASES if devices(name)}
