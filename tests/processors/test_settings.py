"""Which settings of other processors are tested, from what the libraries answer."""

import pytest

from tests.processors._settings import choose, probe, together


def probe_of(native, answers):
    return lambda library, variables: (
        answers.get(next(iter(variables.values())), native[library]) if variables else native[library]
    )


INTEL = {
    "torch": "AVX512",
    "MKL": "01ab",
    "OpenBLAS": "SkylakeX",
    "numpy": "X86_V3 X86_V4 AVX512_ICL",
    "numba": "icelake",
}
AMD = INTEL | {"torch": "AVX2", "OpenBLAS": "Haswell", "numpy": "X86_V3", "numba": "znver3"}
ALWAYS = {"default": "DEFAULT", "COMPATIBLE": "02cd", "generic": "generic", "Haswell": "Haswell", "Nehalem": "Nehalem"}


def names(settings):
    return [setting.name.rpartition("=")[2] for setting in settings]


def test_with_avx512_all_settings_run_but_those_of_the_same_kernels():
    answers = ALWAYS | {"Zen": "Haswell", "SkylakeX": "SkylakeX", "X86_V4 AVX512_ICL": "X86_V3", INTEL["numpy"]: ""}
    chosen, skipped = choose(probe_of(INTEL, answers))
    without = ["numpy without AVX-512", "numpy without AVX2"]
    assert names(chosen) == ["default", "Haswell", "Nehalem", "COMPATIBLE", "generic", *without]
    assert list(skipped) == ["OPENBLAS_CORETYPE=Zen", "OPENBLAS_CORETYPE=SkylakeX"]
    assert chosen[-2].variables == {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL"}
    (everything,) = together(chosen)
    assert set(everything.variables) == {
        "ATEN_CPU_CAPABILITY", "OPENBLAS_CORETYPE", "MKL_CBWR", "NPY_DISABLE_CPU_FEATURES"
    }  # fmt: skip


def test_without_avx512_what_needs_it_is_skipped():
    answers = ALWAYS | {"Zen": "Zen", "SkylakeX": None, "": "X86_V3", "X86_V3": ""}
    chosen, skipped = choose(probe_of(AMD, answers))
    assert names(chosen) == ["default", "Zen", "Nehalem", "COMPATIBLE", "generic", "numpy without AVX2"]
    assert skipped == {
        "OPENBLAS_CORETYPE=Haswell": "OpenBLAS takes Haswell, as without it or in a run above",
        "OPENBLAS_CORETYPE=SkylakeX": "OpenBLAS cannot run so on this processor",
        "numpy without AVX-512": "numpy takes X86_V3, as without it or in a run above",
    }


def test_where_nothing_can_be_chosen_nothing_runs():
    chosen, skipped = choose(lambda library, variables: "")
    assert (chosen, together(chosen)) == ([], [])
    assert len(skipped) == 9


@pytest.mark.parametrize("library", ["OpenBLAS", "numpy", "numba"])
def test_libraries_answer(library):
    assert probe(library, {}) is not None
