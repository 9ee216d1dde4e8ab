"""Kernels: arrays in, arrays out, no policy; the C++ is in files beside the functions."""

try:
    from sklearn_hashnlp.kernels import _native as _native
except ImportError as error:
    raise ImportError(
        f"The kernels of sklearn_hashnlp are not compiled for this Python ({error}). In a "
        "checkout, run: make demo, or python -m pip install --editable ."
    ) from error
