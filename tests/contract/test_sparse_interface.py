"""Transformers return sparse matrices or sparse arrays, as
``sklearn.set_config(sparse_interface=...)`` says.
"""

from __future__ import annotations

import pytest
from scipy.sparse import issparse, sparray, spmatrix
from sklearn import config_context, get_config

from tests.trainings import assert_same_bits

from .estimators import CASES, fitted
from .test_answers import SPARSE


@pytest.mark.skipif("sparse_interface" not in get_config(), reason="needs scikit-learn 1.9")
@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if "transform" in case.answers]
)
def test_the_interface_is_the_configured_one(name):
    case, model = CASES[name], fitted(name)
    is_sparse, results = issparse(model.transform(case.asked)), []
    assert is_sparse == (name in SPARSE)
    if not is_sparse:
        return
    for interface, kind in (("spmatrix", spmatrix), ("sparray", sparray)):
        with config_context(sparse_interface=interface):
            for result in (model.transform(case.asked), case.make().fit_transform(case.X, case.y)):
                assert isinstance(result, kind)
                results.append(result)
    assert_same_bits(results[0].toarray(), results[2].toarray())
