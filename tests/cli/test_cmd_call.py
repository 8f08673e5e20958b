"""``ckprof call``: one JSON object, whatever becomes of the run."""

import json

import msgspec
import pytest

LINE = "2 1 1 16 16 1 1 6 5 1 1 1 1 0 0 0 0"


def test_what_cannot_be_loaded_is_said_in_the_answer(ckprof, tmp_path):
    # a library, but none of kernels
    called = ckprof("call", "fwd", msgspec._core.__file__, "--problem", LINE, "-o", "answer.json")
    assert (called.code, called.out, called.err) == (3, "", "")
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert (answer["schema"], answer["version"], answer["success"]) == ("ckprof-call", 1, False)
    assert "cannot load kernel library" in answer["error"] and "exit_code" not in answer


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("none.so", "--problem", LINE), 3, "none.so: no such file, expected a kernel library"),
        (("none.so",), 2, "the following arguments are required: --problem"),
        (("none.so", "--problem", LINE, "--repeat", "0"), 2, "--repeat"),
    ],
)
def test_wrong_calls(ckprof, arguments, code, message):
    ckprof("call", "fwd", *arguments).fails_with(code, message)
