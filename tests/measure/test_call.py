"""``ckprof call``: one kernel of a built library on one problem, its answer and its exit codes."""

import json

import pytest

from ckprof import ConvLibrary
from ckprof.cli.main import main
from ckprof_plugins.directions._convolution.layout import tensor_shape

from .conftest import LAYOUT, LINE, PROBLEM

pytestmark = pytest.mark.compiler


def test_call(fwd_library, capsys):
    fp32_2d = next(
        one for one in ConvLibrary(fwd_library).kernels if (one.ndim, one.dtype.value) == (2, "fp32")
    )
    code = main(["call", "fwd", str(fwd_library), "--problem", LINE, "--kernel", fp32_2d.name])
    answer = json.loads(capsys.readouterr().out)
    assert code == 0 and answer["success"] and answer["verified"]
    assert answer["kernel"]["name"] == fp32_2d.name and answer["time_ms"] > 0
    assert answer["result"]["shape"] == list(tensor_shape(PROBLEM, LAYOUT, "output"))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("fwd", "none.so", "--problem", LINE), 3, "no such file, expected a kernel library"),
        (("fwd", "LIBRARY", "--problem", LINE, "--repeat", "0"), 2, "--repeat 0: expected 1 or more"),
        (("bwd_data", "LIBRARY", "--problem", LINE), 3, "the library computes fwd, expected bwd_data"),
        (("fwd", "LIBRARY", "--problem", LINE, "--split-k", "2"), 1, "no kernel supports"),
        (("fwd", "LIBRARY", "--problem", LINE, "--kernel", "nobody"), 1, "unknown kernel 'nobody'"),
    ],
)
def test_wrong_calls_of_the_command(arguments, code, message, fwd_library, capsys):
    arguments = [str(fwd_library) if part == "LIBRARY" else part for part in arguments]
    assert main(["call", *arguments]) == code
    out, err = capsys.readouterr()
    assert message in (json.loads(out)["error"] if out else err)
