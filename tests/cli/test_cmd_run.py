"""``ckprof run``: what is said before anything is built."""

from __future__ import annotations

import pytest

LIST = "forward/tests/nhwgc_fp16"


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--best", "--format", "json"), "--best and --top go with --format table, md, csv"),
        (("--top", "0"), "invalid positive integer value: '0'"),
        (("--best", "--top", "3"), "not allowed with"),
        (("--best", "--tree", "conf"), "do not go with --tree"),
    ],
)
def test_wrong_uses_of_top(ckprof, options, part):
    called = ckprof("run", "fwd", "--conf", LIST, *options)
    assert called.code == 2 and part in called.err
