import logging
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ckprof.errors import ExitCode, ToolchainError
from ckprof.kernels import toolchain
from ckprof.kernels.toolchain import ask, find_compiler, parse_version, search_compilers
from ckprof.model.recipe import Compiler, CompilerFamily

GCC = "{name} (Debian 12.2.0-14+deb12u1) {version}\nCopyright (C) 2022 Free Software Foundation, Inc.\n"
CLANG = "Debian clang version {version}\nTarget: x86_64-pc-linux-gnu\n"


@pytest.fixture
def bin_dir(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(toolchain, "ziglang_executable", lambda: None)
    return folder


@pytest.fixture
def store(tmp_path):
    return tmp_path / "answers"


def compiler_script(path, banner, *, sample="", before=""):
    """Write a compiler that counts its calls."""
    path.write_text(
        f"#!{sys.executable} -IS\nimport sys, time\nargs = sys.argv[1:]\n"
        f"open({str(path) + '.calls'!r}, 'a').write(args[0] + '\\n')\n{before}\n"
        f"if '--version' in args: sys.stdout.write({banner!r})\n"
        f"elif '-dumpmachine' in args: print('x86_64-linux-gnu')\n"
        f"else:\n    pass\n    {sample}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def gcc(path, version="12.2.0", **options):
    return compiler_script(path, GCC.format(name=path.name, version=version), **options)


def clang(path, version="15.0.7", **options):
    return compiler_script(path, CLANG.format(version=version), **options)


def calls(path):
    log = Path(f"{path}.calls")
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.mark.parametrize(
    ("first_line", "family", "version"),
    [
        (GCC.format(name="g++", version="12.2.0"), "gcc", (12, 2, 0)),
        ("g++-13 (Ubuntu 13.1.0-8ubuntu1~22.04) 13.1.0\nFree Software Foundation", "gcc", (13, 1, 0)),
        ("g++ (GCC) 11.4.1 20230605 (Red Hat 11.4.1-2)\nFree Software Foundation", "gcc", (11, 4, 1)),
        ("x86_64-conda-c++ (conda-forge gcc 13.2.0-7) 13.2.0\nFree Software Foundation", "gcc", (13, 2, 0)),
        ("g++ (GCC) 14.1\nFree Software Foundation", "gcc", (14, 1, 0)),
        (CLANG.format(version="14.0.6"), "clang", (14, 0, 6)),
        ("clang version 22.1.8\n", "clang", (22, 1, 8)),
        ("HIP version: 6.2.41133\nAMD clang version 18.0.0git (https://x)\n", "clang", (18, 0, 0)),
        ("Apple clang version 15.0 (clang-1500)\n", "clang", (15, 0, 0)),
    ],
)  # fmt: skip
def test_reads_versions(first_line, family, version):
    assert parse_version(first_line) == (CompilerFamily(family), version)


def test_finds_the_usual_names_in_order(bin_dir, store):
    clang(bin_dir / "clang++-17", "17.0.1")
    gcc(bin_dir / "g++-13", "13.2.0")
    first = find_compiler(store=store)
    assert first.command == ("g++-13",) and first.version == (13, 2, 0)
    assert first.family is CompilerFamily.GCC and first.description.startswith("g++-13 (Debian")
    found = search_compilers(store=store)
    assert [compiler.command for compiler in found[0]] == [("g++-13",), ("clang++-17",)]
    assert found[1] == ()
    gcc(bin_dir / "special")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CXX", "special -m64")
        assert find_compiler(store=store).command == ("special", "-m64")


def test_an_explicit_request_is_final(bin_dir, store, monkeypatch):
    found = gcc(bin_dir / "g++")
    # builds start it in folders of their own
    monkeypatch.chdir(bin_dir.parent)
    assert find_compiler("bin/g++ -m64 -Iinc/a", store=store).command == (str(found), "-m64", "-Iinc/a")
    gcc(bin_dir / "old", "9.4.0")
    assert find_compiler("g++ -m64", store=store).command == ("g++", "-m64")
    with pytest.raises(ToolchainError, match=r"old: version 9\.4\.0 is too old, gcc 11 is needed; omit"):
        find_compiler("old", store=store)
    with pytest.raises(ToolchainError, match="no-such-compiler: not found"):
        find_compiler("no-such-compiler", store=store)
    with pytest.raises(ToolchainError, match="--compiler is empty"):
        find_compiler(" ", store=store)
    with pytest.raises(ToolchainError, match=r"--compiler: .* cannot be read as a command"):
        find_compiler("'g++", store=store)


@pytest.mark.parametrize(
    ("command", "added"),
    [
        ("g++", ()),
        ("g++ -fno-tree-vectorize -O2", ("-fno-tree-vectorize", "-O2")),
        ("ccache g++ -m64", ("-m64",)),
        ("env CPATH=/x g++", ("CPATH=/x", "g++")),
    ],
)
def test_what_users_add_to_a_compiler_is_told(bin_dir, store, command, added):
    for name in ("g++", "ccache", "env"):
        gcc(bin_dir / name)
    assert find_compiler(command, store=store).added_words == added
    assert find_compiler(command, store=store).added_words == added, "from the kept answer as well"


def test_the_call_of_the_packaged_compiler_is_nothing_added():
    assert toolchain.added_words(("/opt/ziglang/zig", "c++", "-O1")) == ("-O1",)
    assert toolchain.added_words(("python3", "-m", "ziglang", "c++", "-O1")) == ("-O1",)


def test_unusable_compilers_are_skipped_with_their_reasons(bin_dir, store, caplog, monkeypatch):
    monkeypatch.setenv("CXX", "missing++")
    gcc(bin_dir / "g++", "10.2.1")
    compiler_script(bin_dir / "clang++", "hello\n")
    compiler_script(bin_dir / "g++-14", "", before="print('boom', file=sys.stderr); sys.exit(3)")
    gcc(bin_dir / "g++-13", sample="print('x.cpp:1: no <concepts>', file=sys.stderr); sys.exit(1)")
    (bin_dir / "g++-12").write_text("#!/no/such/interpreter\n")
    (bin_dir / "g++-12").chmod(0o700)
    clang(bin_dir / "clang++-18", "18.1.0")
    with caplog.at_level(logging.WARNING):
        assert find_compiler(store=store).command == ("clang++-18",)
    assert caplog.messages == [
        "compiler skipped: missing++: not found",
        "compiler skipped: g++: version 10.2.1 is too old, gcc 11 is needed",
        "compiler skipped: clang++: not a known compiler, --version says: hello",
        "compiler skipped: g++-14: --version fails with exit status 3: boom",
        "compiler skipped: g++-13: a C++20 test source fails with exit status 1: x.cpp:1: no <concepts>",
        "compiler skipped: g++-12: cannot be run: No such file or directory",
    ]


def test_no_compiler_at_all_says_what_to_install(bin_dir, store):
    with pytest.raises(ToolchainError) as caught:
        find_compiler(store=store)
    message = str(caught.value)
    assert caught.value.exit_code is ExitCode.TOOLCHAIN
    assert "gcc 11 or clang 14 or newer" in message and "clang++-14" in message
    assert "apt-get install g++" in message and "pip install 'ckprof[zig]'" in message
    assert "unusable" not in message
    gcc(bin_dir / "g++", "8.1.0")
    with pytest.raises(ToolchainError, match=r"found but unusable:\n  g\+\+: version 8\.1\.0 is too old"):
        find_compiler(store=store)


def test_a_hanging_compiler_is_skipped_and_asked_again(bin_dir, store, monkeypatch):
    monkeypatch.setattr(toolchain, "_TIMEOUT_S", 0.2)
    path = gcc(bin_dir / "g++", before="time.sleep(30)")
    answer = toolchain.probe(("g++",), store)
    assert isinstance(answer, str) and "no answer within 0.2 s" in answer
    monkeypatch.undo()
    gcc(path)
    assert isinstance(toolchain.probe((str(path),), store), Compiler)


def test_answers_are_kept_until_the_executable_changes(bin_dir, store):
    path = gcc(bin_dir / "g++")
    first = find_compiler(store=store)
    asked = calls(path)
    assert asked == 3
    assert find_compiler(store=store) == first and calls(path) == asked
    next(store.iterdir()).write_text("{")
    assert find_compiler(store=store) == first and calls(path) == 2 * asked
    gcc(path, "12.3.0")
    assert find_compiler(store=store).version == (12, 3, 0)
    gcc(path, "9.1.0")
    for _ in range(2):
        assert isinstance(toolchain.probe(("g++",), store), str)
    assert calls(path) == 3 * asked + 1


def test_a_store_that_cannot_be_written_only_costs_time(bin_dir, tmp_path):
    gcc(bin_dir / "g++")
    (tmp_path / "file").write_text("")
    assert find_compiler(store=tmp_path / "file" / "answers").version == (12, 2, 0)


def test_identity_depends_on_version_and_executable_not_on_the_name(bin_dir, store):
    path = gcc(bin_dir / "g++-12")
    (bin_dir / "g++").symlink_to("g++-12")
    path.write_text(path.read_text().replace(repr("g++-12 (")[1:-1], "' + sys.argv[0].split('/')[-1] + ' ("))
    found = search_compilers(store=store)
    assert [compiler.command for compiler in found[0]] == [("g++",)]
    identity = found[0][0].identity
    path.write_text(path.read_text() + "# changed\n")
    assert find_compiler(store=store).identity != identity


def test_the_bundled_compiler_is_the_last_resort(bin_dir, store, tmp_path, monkeypatch):
    bundled = clang(tmp_path / "zig", "22.1.8")
    monkeypatch.setattr(toolchain, "ziglang_executable", lambda: bundled)
    found = find_compiler(store=store)
    # not through Python, which would look for the package in the current folder first
    assert found.command == (str(bundled), "c++")
    assert find_compiler("zig", store=tmp_path / "store").command == found.command
    assert found.family is CompilerFamily.CLANG and not found.precompiles
    clang(bin_dir / "clang++", "15.0.0")
    assert find_compiler(store=store).command == ("clang++",)


@pytest.mark.compiler
def test_the_real_compiler_answers_quickly_the_second_time(tmp_path):
    import time

    try:
        first = find_compiler(store=tmp_path)
    except ToolchainError as exc:
        pytest.skip(str(exc))
    started = time.monotonic()
    assert find_compiler(store=tmp_path) == first
    assert time.monotonic() - started < 0.05


def test_answers_have_a_status_and_silence_ends():
    code = "import sys; print(repr(sys.stdin.read())); sys.stderr.buffer.write(b'\\xff'); sys.exit(3)"
    done = ask((sys.executable, "-c", code), 30)
    assert (done.returncode, done.stdout, done.stderr) == (3, "''\n", "\ufffd")
    with pytest.raises(subprocess.TimeoutExpired):
        ask((sys.executable, "-c", "import time; time.sleep(60)"), 0.2)
