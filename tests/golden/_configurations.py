"""All golden configurations, computed each in the same state."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from tests.golden import _classifiers, _features, _language_models, _networks, _sentence_encoders
from tests.golden._register import CONFIGURATIONS, Arrays

# Importing a module enters its configurations.
MODULES = (_features, _classifiers, _networks, _language_models, _sentence_encoders)
KINDS = ("exact", "trained", "local")
NAMES = {kind: [name for name, entry in CONFIGURATIONS.items() if entry.kind == kind] for kind in KINDS}


@cache
def arrays_of(name: str) -> Arrays:
    """Compute a configuration, from fixed states of the global random number generators."""
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002  # what an estimator may read by mistake
    return CONFIGURATIONS[name].compute()
