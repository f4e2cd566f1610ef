"""C libraries: which of them a case needs, their flags, compilers that are missing or fail, and loading."""

import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from ladder.build import libraries
from ladder.catalogue import setup_arguments, workloads
from ladder.errors import LadderError
from ladder.records.case import Case
from ladder.records.files import read_json

NEEDS_GCC = pytest.mark.skipif(not shutil.which("gcc"), reason="requires gcc")
LIBRARY = "gemm", "c_openmp", "dtype=float64,flags=O2"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """An empty working directory, without libraries from earlier builds."""
    monkeypatch.chdir(tmp_path)
    cached = libraries.load, libraries.host_label, libraries.compiler_version
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


@pytest.fixture
def put_gcc_first(tmp_path, monkeypatch):
    """A function that puts a shell script named gcc first on the PATH."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")

    def put(script):
        libraries.host_label.cache_clear()
        libraries.compiler_version.cache_clear()
        gcc = tmp_path / "bin/gcc"
        gcc.write_text(f"#!/bin/sh\n{script}\n")
        gcc.chmod(0o755)

    return put


def test_a_case_needs_its_own_library_and_those_of_what_it_uses():
    sizes = workloads.complete("gemm", {"m": 1, "n": 1, "k": 1, "dtype": "float32"})
    assert libraries.of_case(Case("gemm", "blas", sizes, {"threads": 1})) == set()
    for tuning, flags in (({}, "native"), ({"flags": "O2"}, "O2")):
        keys = libraries.of_case(Case("gemm", "c_openmp", sizes, {"threads": 1, **tuning}))
        assert keys == {("gemm", "c_openmp", f"dtype=float32,flags={flags}")}
    training = workloads.complete("mlp", {"images": 1, "batch": 1, "epochs": 1, "rate": 1.0})
    case = Case("mlp", "host", training, {"product": "c_openmp", "threads": 1})
    assert libraries.of_case(case) == {("gemm", "c_openmp", "dtype=float64,flags=native")}


def test_macros_are_those_named_by_the_variant(monkeypatch):
    monkeypatch.setattr(workloads, "constants", lambda *variant: {"MACROS": ("tile", "depth")})
    monkeypatch.setattr(setup_arguments, "defaults", lambda *variant: {"depth": 2, "flags": "O3"})
    slug = libraries.slug("any", "variant", "float32", {"tile": 8, "threads": 4})
    assert slug == "dtype=float32,flags=O3,depth=2,tile=8"
    assert {"-O3", "-DDEPTH=2", "-DTILE=8", "-DREAL=float"} <= set(libraries.options(slug))


@NEEDS_GCC
def test_a_library_is_compiled_again_when_its_source_or_options_have_changed_and_only_then(monkeypatch):
    path = libraries.ensure(*LIBRARY)
    before = path.stat().st_mtime_ns
    assert libraries.ensure(*LIBRARY).stat().st_mtime_ns == before
    monkeypatch.setattr(libraries.sources, "kernel_fingerprint", lambda source: "changed")
    recompiled = libraries.ensure(*LIBRARY).stat().st_mtime_ns
    assert recompiled > before
    monkeypatch.setattr(libraries, "LINK_OPTIONS", (*libraries.LINK_OPTIONS, "-Wl,-O1"))
    assert libraries.ensure(*LIBRARY).stat().st_mtime_ns > recompiled
    intact = path.read_bytes()
    # One bit of a program header changes, as by a faulty disk; loading the library would end in SIGBUS.
    path.write_bytes(intact[:79] + bytes([intact[79] ^ 4]) + intact[80:])
    assert libraries.ensure(*LIBRARY).read_bytes() == intact


@NEEDS_GCC
def test_a_library_that_never_calls_openmp_loads_the_openmp_runtime():
    """Threads are read back from the runtime. In another process, since this one may have loaded it already."""
    path = libraries.ensure("backprop", "before", "dtype=float32,flags=O2").resolve()
    code = f"import ctypes; ctypes.CDLL({str(path)!r}); assert 'libgomp' in open('/proc/self/maps').read()"
    subprocess.run([sys.executable, "-c", code], check=True)


@NEEDS_GCC
def test_the_report_has_the_options_and_the_vectorised_loops(tmp_path, monkeypatch):
    source = tmp_path / "sums.c"
    source.write_text(
        "void add(float *a, const float *b, long n)\n{\n    for (long i = 0; i < n; i++)\n        a[i] += b[i];\n}\n"
    )
    monkeypatch.setattr(libraries, "source_of", lambda *variant: source)
    reports = {}
    for flags in ("O3", "native"):
        slug = f"dtype=float32,flags={flags}"
        reports[flags] = read_json(libraries.ensure("any", "sums", slug).with_suffix(".json"))
    assert "-march=native" in reports["native"]["options"]
    assert "gcc" in reports["O3"]["compiler"]
    for report in reports.values():
        assert any(line.startswith("line 3: loop vectorized") for line in report["vectorised"])
        assert report["warnings"] == []


@pytest.mark.slow
@NEEDS_GCC
@pytest.mark.parametrize("flags", libraries.FLAGS)
def test_no_flags_change_how_the_process_computes(flags):
    """-ffast-math passed to the linker would flush subnormal numbers to zero, in NumPy too."""
    libraries.load("gemm", "c_openmp", "float32", flags=flags)
    subnormal = np.float32(1e-40)
    assert subnormal * np.float32(0.5) > 0


@NEEDS_GCC
def test_every_library_is_linked_with_openmp(tmp_path):
    source, library = tmp_path / "plain.c", tmp_path / "plain.so"
    source.write_text("int one(void) { return 1; }\n")
    libraries.compile(source, libraries.options("dtype=float32,flags=O2"), library)
    script = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print(open('/proc/self/maps').read())"
    assert "libgomp" in subprocess.run([sys.executable, "-c", script, library], capture_output=True, text=True).stdout


def test_wrong_flags_and_a_missing_source_or_compiler_are_errors(tmp_path, monkeypatch):
    with pytest.raises(LadderError, match="There are no flags 'O9': choose one of O2, O3"):
        libraries.options("dtype=float32,flags=O9")
    with pytest.raises(LadderError, match="isn't written like dtype=float64,flags=O2"):
        libraries.options("dtype=float16,flags=O2")
    with pytest.raises(LadderError, match="gemm/blas has no C source"):
        libraries.source_of("gemm", "blas")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LadderError, match=r"c_openmp\.c can't be compiled: there is no gcc\. On Debian: apt-get"):
        libraries.ensure(*LIBRARY)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("c_openmp.c:3:1: error: too large", "too large"),
        ("collect2: fatal: no space left", "collect2: fatal: no space left"),
        ("", "the compiler gave no reason"),
    ],
)
def test_a_compiler_that_fails_gives_its_reason_and_leaves_nothing(tmp_path, put_gcc_first, message, reason):
    put_gcc_first(f'echo "{message}" >&2\nexit 1')
    with pytest.raises(LadderError, match=f"gcc can't compile c_openmp.c: {reason}"):
        libraries.ensure(*LIBRARY)
    assert not [path for path in libraries.FOLDER.rglob("*") if path.suffix in (".so", ".json", ".o")]


@NEEDS_GCC
def test_a_wrapper_around_a_compiler_shares_no_library_with_it(put_gcc_first):
    """A wrapper prints the version of the compiler that it calls; the options that it adds may depend on variables."""
    real_gcc, labels = shutil.which("gcc"), [libraries.host_label()]
    for script in (f'exec {real_gcc} "$@" -O0', f'exec {real_gcc} "$@" $EXTRA'):
        put_gcc_first(script)
        labels.append(libraries.host_label())
    assert len({*labels}) == 3


@NEEDS_GCC
def test_the_label_of_a_compiler_depends_on_its_subcommands(put_gcc_first, tmp_path):
    real_gcc, options_file, labels = shutil.which("gcc"), tmp_path / "options", []
    put_gcc_first(f'exec {real_gcc} "$@" $(cat {options_file})')
    for text in ("", "-O0", ""):
        options_file.write_text(text)
        libraries.host_label.cache_clear()
        labels.append(libraries.host_label())
    assert labels[0] == labels[2] != labels[1]


def test_a_compiler_that_writes_nothing_or_never_ends_is_an_error(put_gcc_first, monkeypatch):
    put_gcc_first("exit 0")
    with pytest.raises(LadderError, match=r"gcc reports no error, but hasn't compiled c_openmp\.c: .*bin/gcc isn't"):
        libraries.ensure(*LIBRARY)
    monkeypatch.setattr(libraries, "TIMEOUT", 0.2)
    put_gcc_first('[ "$1" != --version ] || exit 0; sleep 60')
    with pytest.raises(LadderError, match=r"gcc hasn't compiled c_openmp\.c after 0\.2 s: .*bin/gcc may wait"):
        libraries.ensure(*LIBRARY)


@pytest.mark.parametrize(
    ("flag", "message"),
    [(os.ST_NOEXEC, "is mounted with `noexec`: remount it"), (0, "can't be loaded: .*file too short")],
)
def test_a_library_that_cannot_be_loaded_is_an_error(tmp_path, monkeypatch, flag, message):
    broken = tmp_path / "broken.so"
    broken.touch()
    monkeypatch.setattr(libraries, "ensure", lambda *library: broken)
    monkeypatch.setattr(libraries.os, "statvfs", lambda path: SimpleNamespace(f_flag=flag))
    with pytest.raises(LadderError, match=message):
        libraries.load("gemm", "c_openmp", "float64")
