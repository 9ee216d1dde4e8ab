"""The cache of machine code: what is found again, what is never run, and where it is looked for."""

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core.registry import cpu_target

from sklearn_hashnlp.kernels import _cache
from sklearn_hashnlp.kernels._cache import PORTABLE, KernelCache
from sklearn_hashnlp.kernels._compile import compilations, compiled


def add_one(x: Any) -> Any:
    return x + 1


def add_two(x: Any) -> Any:
    return x + 2


def was_compiled(function: Any = add_one) -> bool:
    """Call a kernel as a new process would, and return whether it was compiled and not loaded."""
    KernelCache._folders = None
    kernel: Any = compiled(function)
    assert kernel(1.0) == function(1.0)
    return bool(kernel.stats.cache_misses)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set a folder for machine code, as NUMBA_CACHE_DIR does; it does not exist yet."""
    monkeypatch.setattr(KernelCache, "_folders", None)
    monkeypatch.setattr(compilations, "announced", True)
    monkeypatch.setattr(numba.core.config, "reload_config", lambda: None)  # which would reset the next line
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def the_file(cache: Path) -> Path:
    [file] = cache.glob("*/*.nbc")
    return file


def test_the_second_process_finds_what_the_first_has_compiled(cache):
    assert [was_compiled(), was_compiled()] == [True, False]
    assert was_compiled(add_two)


def test_times_and_the_place_of_the_folder_do_not_matter(cache, monkeypatch):
    was_compiled()
    os.utime(the_file(cache), (1, 1))
    moved = shutil.copytree(cache, cache.with_name("image") / "cache")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(moved))
    assert not was_compiled()


@pytest.mark.parametrize("damage", ["emptied", "cut short", "a changed byte", "of another function"])
def test_a_file_that_is_not_as_it_was_written_is_compiled_anew(damage, cache):
    was_compiled()
    file = the_file(cache)
    content = file.read_bytes()
    changed = bytearray(content)
    changed[len(content) // 2] ^= 1
    if damage == "of another function":
        file.rename(file.with_name("kept"))
        was_compiled(add_two)
        the_file(cache).replace(file)
    else:
        file.write_bytes({"emptied": b"", "cut short": content[:-1]}.get(damage, bytes(changed)))
    assert [was_compiled(), was_compiled()] == [True, False]


def test_a_kernel_with_variables_of_its_own_is_not_kept(cache):
    def adder(number: int) -> Any:
        def add(x: Any) -> Any:
            return x + number

        return add

    kernels: Any = [compiled(adder(number)) for number in (1, 2)]
    assert [kernel(1) for kernel in kernels] == [2, 3]
    assert not cache.exists()


@pytest.mark.parametrize("change", ["a file", "a file in a folder", "a name", "a new file"])
def test_machine_code_is_stale_once_any_kernel_file_has_changed(change, tmp_path, monkeypatch):
    monkeypatch.setattr(_cache, "_KERNELS", tmp_path)
    digest = _cache._digest_of_sources.__wrapped__
    assert digest() == b""  # no sources, as in a frozen program
    (tmp_path / "trees").mkdir()
    first, second = tmp_path / "_hashes.py", tmp_path / "trees" / "_search.py"
    for path in (first, second):
        path.write_text("one = 1\n")
    before = digest()
    os.utime(first, (1, 1))
    assert digest() == before
    if change == "a name":
        first.rename(tmp_path / "_other.py")
    else:
        {"a file": first, "a file in a folder": second}.get(change, tmp_path / "_new.py").write_text("one = 2\n")
    assert digest() != before


@pytest.mark.parametrize("sources", [b"other", b""], ids=["changed", "missing"])
def test_other_sources_find_nothing(sources, cache, monkeypatch):
    was_compiled()
    monkeypatch.setattr(_cache, "_digest_of_sources", lambda: sources)
    assert [was_compiled(), was_compiled()] == [True, not sources]


# Processors. Machine code of this process is called by the name of another; it is the key that is tested here.


def be(monkeypatch: pytest.MonkeyPatch, name: str, features: str) -> None:
    monkeypatch.setattr(numba.config, "CPU_NAME", name)
    monkeypatch.setattr(cpu_target.target_context.codegen(), "_tm_features", features)


@pytest.mark.parametrize(
    ("built", "run"),
    [
        (("znver4", "+avx2,+avx512f"), ("znver4", "+avx2,-avx512f")),
        (("skylake-avx512", "+avx2"), ("haswell", "+avx2")),
        (("generic", "+avx2"), ("generic", "-avx2")),
        (("haswell", "+avx2"), PORTABLE),
    ],
)
def test_machine_code_of_another_processor_is_not_run(built, run, cache, monkeypatch):
    be(monkeypatch, *built)
    assert was_compiled()
    be(monkeypatch, *run)
    assert [was_compiled(), was_compiled()] == [True, False]
    be(monkeypatch, *built)
    assert not was_compiled()


def test_portable_machine_code_is_run_by_any_processor_that_has_none_of_its_own(cache, monkeypatch):
    be(monkeypatch, *PORTABLE)
    assert was_compiled()
    portable = the_file(cache).read_bytes()
    be(monkeypatch, "haswell", "+avx2")
    assert not was_compiled()
    KernelCache.use(KernelCache.where()._replace(reads_portable=False))
    kernel: Any = compiled(add_one)
    assert kernel(1.0) == 2
    assert kernel.stats.cache_misses
    [of_haswell] = [file for file in cache.glob("*/*.nbc") if file.read_bytes() != portable]
    assert not was_compiled()
    of_haswell.unlink()
    assert not was_compiled()


# Folders


def in_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Path, Path]:
    """Install the package and its user somewhere else; return the folders of machine code of both."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    package = tmp_path / "kernels"
    package.mkdir()
    monkeypatch.setattr(_cache, "_KERNELS", package)
    digest = _cache._digest_of_sources()
    return (
        package / "__pycache__" / "machine_code",
        tmp_path / "home/sklearn-hashnlp" / f"sklearn_hashnlp-{digest.hex()[:16]}",
    )


posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


@posix
def test_the_folder_of_the_package_comes_first_and_then_that_of_the_user(tmp_path, monkeypatch):
    of_package, of_user = in_package(monkeypatch, tmp_path)
    assert was_compiled()
    assert list(of_package.glob("*.nbc"))
    assert not of_user.exists()
    shutil.rmtree(of_package)
    of_package.touch()  # a file where a folder is wanted: not even root can write there
    assert [was_compiled(), was_compiled()] == [True, False]
    assert list(of_user.glob("*.nbc"))
    assert KernelCache.where().obstacles == f"{of_package} cannot be written"


@posix
def test_a_full_cache_that_cannot_be_written_is_used(tmp_path, monkeypatch):
    of_package, of_user = in_package(monkeypatch, tmp_path)
    was_compiled()
    monkeypatch.setattr(os, "access", lambda *_: False)  # for root, too
    assert not was_compiled()
    assert KernelCache.where().written is None
    assert was_compiled(add_two)
    assert not of_user.exists()
    assert len(list(of_package.iterdir())) == 1


@posix
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o1777], ids=oct)
def test_a_folder_that_others_can_write_is_neither_read_nor_written(mode, cache):
    was_compiled()
    folder = the_file(cache).parent
    folder.chmod(mode)
    assert [was_compiled(), was_compiled(add_two)] == [True, True]
    the_file(cache)  # still one
    assert KernelCache.where().obstacles == f"{folder} is not used, as other users can write it"
    folder.chmod(0o755)
    assert not was_compiled()


as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be other users")


@posix
@pytest.mark.parametrize(
    "tamper",
    [
        pytest.param(lambda file: os.chown(file, 12345, -1), id="another user's file", marks=as_root),
        pytest.param(lambda file: os.chown(file.parent, 12345, -1), id="another user's folder", marks=as_root),
        pytest.param(lambda file: file.chmod(0o666), id="a file that others can write"),
    ],
)
def test_what_others_can_write_is_not_run(tamper, cache):
    was_compiled()
    tamper(the_file(cache))
    assert was_compiled()


@posix
@pytest.mark.parametrize(
    ("umask", "can_change_modes"), [(0o000, True), (0o002, True), (0o077, True), (0o000, False)], ids=str
)
def test_all_can_read_what_is_written_and_one_can_write_it(umask, can_change_modes, cache, monkeypatch):
    cache.mkdir()
    if not can_change_modes:  # so that no other could write it before
        monkeypatch.setattr(Path, "chmod", lambda *_: None)
    before = os.umask(umask)
    try:
        was_compiled()
    finally:
        os.umask(before)
    file = the_file(cache)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file.parent, file)] == [0o755, 0o644]


@posix
@pytest.mark.parametrize("home", [None, "", "relative", "/dev/null"])
def test_a_user_without_a_home_has_no_folder(home, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path if home is None else path.replace("~", home, 1))
    folders = KernelCache.where()
    assert folders.read[0] == _cache._KERNELS / "__pycache__" / "machine_code"
    assert all(folder.is_absolute() for folder in folders.read)
    assert len(folders.read) == (1 if home in (None, "relative") else 2)
