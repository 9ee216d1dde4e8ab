"""Which settings of libraries are run, by what the libraries say that they compute with."""

from collections.abc import Mapping

from tests.processors._settings import PROBES, choose, describe, processors


def fake(native: str, *, impossible: tuple[str, ...] = (), without_effect: tuple[str, ...] = ()):
    """Return a probe of a processor on which some settings are impossible and others change
    nothing.
    """

    def probe(library: str, variables: Mapping[str, str]) -> str | None:
        value = next(iter(variables.values()), native)
        if value in impossible:
            return None
        return native if value in without_effect else value

    return probe


def test_each_library_computes_as_on_an_older_processor():
    chosen, skipped = choose(fake("X86_V3 X86_V4 AVX512_ICL"))
    assert skipped == []
    assert {setting.library for setting in chosen[0]} == set(PROBES)
    assert (
        "ATEN_CPU_CAPABILITY=default, MKL_CBWR=COMPATIBLE, OPENBLAS_CORETYPE=Haswell"
        in describe(chosen[0])
    )
    assert "NPY_DISABLE_CPU_FEATURES=X86_V4 AVX512_ICL" in describe(chosen[0])
    assert "NPY_DISABLE_CPU_FEATURES=X86_V3 X86_V4 AVX512_ICL" in describe(chosen[1])


def test_impossible_settings_and_runs_without_effect_are_skipped_by_name():
    second = tuple(setting.value for setting in processors([])[1])
    chosen, skipped = choose(fake("", impossible=("v3",), without_effect=second))
    assert [setting.library for settings in chosen for setting in settings] == [
        "torch",
        "MKL",
        "OpenBLAS",
        "numpy",
    ]
    assert skipped[0] == "HASHNLP_TEST_LEVEL=v3: kernels cannot run so on this processor"
    assert skipped[1].endswith("the libraries compute as without it or as in a run above")
