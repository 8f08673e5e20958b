"""``ckprof build``: what is said of kernels that there are none of, and where the result lies."""

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof.cli.cmd_build import build_and_report
from ckprof.cli.console import Console
from ckprof.errors import ExitCode
from ckprof.kernels.candidates import Rejection
from ckprof.model.outcome import Status
from ckprof.model.results import BuildSummary

#: of the list, what the architecture has no waves for
INVALID = (
    *("--conf", "forward/tests/nhwgc_fp16", "--arch", "gfx90a"),
    *("--filter", "warp_m == 1 and warp_n == 1", "--build-dir", "out"),
)


@pytest.mark.compiler
def test_kernels_that_break_a_rule_are_left_out(ckprof):
    for further in ((), ("--link",)):
        called = ckprof("build", "fwd", *INVALID, *further)
        called.fails_with(1, "warning: unsupported: grouped_conv_fwd_", "gfx90a has no wave grid 1x1x1")
        assert called.out == "" and called.err.count("gfx90a has no wave grid") == 9


def built(**made):
    """Return the exit code of a build that gave this, and what was printed."""
    usual = {"rejected": (), "summary": BuildSummary(), "path": None, "code_objects": None}
    out, err = io.StringIO(), io.StringIO()
    profiler = SimpleNamespace(build=lambda *_, run: SimpleNamespace(**usual | made))
    session = SimpleNamespace(profiler=profiler, console=Console(1, out=out, err=err))
    return build_and_report(session, None, None), out.getvalue(), err.getvalue()


def test_the_library_is_printed_or_else_the_folder_of_code_objects():
    assert built(path=Path("a.so"), code_objects=Path("co")) == (ExitCode.OK, "a.so\n", "")
    assert built(code_objects=Path("co")) == (ExitCode.OK, "co\n", "")
    assert built() == (ExitCode.FAILED, "", "")
    slow = BuildSummary(slowest=tuple((f"kernel_{n}", 9.5 - n) for n in range(7)))
    _, _, err = built(path=Path("a.so"), summary=slow)
    assert err.splitlines() == [f"  {9.5 - n:.2f} s  kernel_{n}" for n in range(5)]


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (Status.UNSUPPORTED, ExitCode.OK, "warning: unsupported: mine: why"),
        (Status.COMPILE_ERROR, ExitCode.FAILED, "ckprof: compile_error: mine: why"),
    ],
)
def test_a_kernel_that_does_not_compile_fails_the_command(status, code, said):
    rejected = Rejection(candidate=SimpleNamespace(name="mine"), status=status, reason="why")
    assert built(path=Path("a.so"), rejected=(rejected,)) == (code, "a.so\n", f"{said}\n")
