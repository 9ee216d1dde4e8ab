"""Parameters of all public estimators: declared, checked, stored untouched, cloned."""

from __future__ import annotations

import importlib
import inspect
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks, estimator_html_repr

import sklearn_hashnlp
from tests.contract.estimators import CASES, ONE_OF_A_KIND, fit, fitted, kind, refit

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
    "AugmentedTextClassifier",
    "InterpolatedLanguageModel",
    "NgramVectorUnion",
    "SGNNWordProjector",
}  # they are made of estimators that must be given
GIVEN = {"encoder", "estimator", "featurizer", "models", "projector", "vectorizer"}
POSITIONAL = {*NO_DEFAULTS, "QuantizedSGNNClassifier"}
FOLDERS = ("text", "classifiers", "language", "sentences")
FREE_STRINGS = {("FrequentNgramVectorizer", "token_pattern")}  # of many choices, which are regular expressions
UNCHECKED = {("HashingNgramVectorizer", "dtype")}  # as in scikit-learn's HashingVectorizer


def test_the_table_has_every_public_estimator():
    folders = [importlib.import_module(f"sklearn_hashnlp.{name}") for name in FOLDERS]
    public = {name: getattr(folder, name) for folder in [sklearn_hashnlp, *folders] for name in folder.__all__}
    estimators = {name: entry for name, entry in public.items() if hasattr(entry, "get_params")}
    assert {name: type(CASES[name].make()) for name in ONE_OF_A_KIND} == estimators


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
    keywords = {parameter.name for parameter in parameters.values() if parameter.kind is parameter.KEYWORD_ONLY}
    assert keywords == set(parameters) or name in POSITIONAL
    with pytest.raises(ValueError, match="Invalid parameter 'widht'"):
        model.set_params(widht=3)


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_constraints_are_those_of_all_parameters_and_no_others(name):
    cls = type(CASES[name].make())
    assert set(cls._parameter_constraints) == set(inspect.signature(cls).parameters)


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_fit_names_a_wrong_parameter(name):
    class Strange:
        """Nothing that any parameter takes."""

    for parameter in sorted(inspect.signature(type(CASES[name].make())).parameters):
        if (name, parameter) in UNCHECKED:
            continue
        with pytest.raises((ValueError, TypeError), match=f"{parameter}.* {name}|{name}.*{parameter}"):
            fit(name, **{parameter: Strange()})


@pytest.mark.parametrize("name", [name for name in CASES if kind(name) in ONE_OF_A_KIND])
def test_fit_returns_the_model_and_leaves_its_parameters(name):
    model = CASES[name].make()
    before, given = repr(model), model.get_params()
    assert refit(name, model) is model
    assert repr(model) == before
    assert all(model.get_params()[parameter] is value for parameter, value in given.items())


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
        choices = {choice for constraint in constraints for choice in getattr(constraint, "options", ())}
        if (name, parameter) not in FREE_STRINGS:
            assert literals(hints[parameter]) == {choice for choice in choices if isinstance(choice, str)}, parameter
