"""The kernels that tests run: another build of the module or another instruction set, if the
environment says so.
"""

from __future__ import annotations

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location

MODULE, LEVEL = "HASHNLP_TEST_MODULE", "HASHNLP_TEST_LEVEL"
"""Environment variables: the path of a build, and the name of an instruction set. Only tests read
them.
"""


def use_kernels() -> None:
    """Load the build and set the instruction set that the environment names; to be called before
    others import it.
    """
    name = "sklearn_hashnlp.kernels._native"
    if path := os.environ.get(MODULE):
        specification = spec_from_file_location(name, path)
        assert specification is not None
        assert specification.loader is not None
        sys.modules[name] = module_from_spec(specification)
        specification.loader.exec_module(sys.modules[name])
    if level := os.environ.get(LEVEL):
        from sklearn_hashnlp.kernels import _native

        _native.set_level(level)
