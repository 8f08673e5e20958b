"""``ckprof migrate`` with kernels of both libraries, and the rules of audits against the old one's answers.

Needs the tree of November 2025 in ``$CK_BUILDER_ROOT``.
"""

import json
import os

import pytest

pytestmark = [
    pytest.mark.amd,
    pytest.mark.slow,
    pytest.mark.compiler,
    pytest.mark.timeout(1800),
    pytest.mark.usefixtures("amd_toolchain"),
]

#: direction -> its lists, and old kernels of theirs of all classes
ASKED = {
    "fwd": ("forward/tests/nhwgc_fp16", "1,11,26"),
    "bwd_data": ("backward_data/tests/nhwgc_fp16", "0,7"),
    "bwd_weight": ("backward_weight/tests/nhwgc_fp16", "2,8,13"),
}


@pytest.fixture
def migrated(ckprof):
    """Return a function that calls the command, and returns exit code and what its JSON says."""
    root = os.environ.get("CK_BUILDER_ROOT")
    if not root:
        pytest.skip("CK_BUILDER_ROOT names no tree of November 2025")

    def call(direction, conf, instances, *more):
        chosen = ("--conf", conf, "--instance", instances, "--target", "hip", "--arch", "gfx942")
        called = ckprof("migrate", direction, *chosen, "--ck-root", root, *more, "--format", "json")
        assert called.out, called.err
        return called.code, json.loads(called.out)

    return call


def test_a_line_of_both_libraries(migrated):
    problem = "conv -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1"
    emulated = ("--device", "emulated", "--results", "2", "--problem", problem)
    code, found = migrated("fwd", "forward/tests/nhwgc_fp16", "11", *emulated, "--fail-on", "results,rules")
    assert code == 0 and found["passed"]
    (line,) = found["lines"]
    assert (line["old"]["pipeline"], line["new"]["pipeline"]) == ("old-ck", "implicit_gemm")
    # the given problem, and those that are drawn
    assert [one["agreement"] for one in line["results"]] == ["equal"] * 3
    assert line["support"]["both"] > 0 and not line["rules"]
    ((time,)) = line["times"]
    assert time["old_us"] > 0 and time["new_us"] > 0 and time["old_limit"] and time["new_limit"]
    assert time["old_loop"]["matrix"] > 0 and time["new_loop"]["matrix"] > 0
    assert all(line[side]["code"]["lds_bytes"] > 0 for side in ("old", "new"))
    assert all(line[side]["printed"] == line[side]["expected"] for side in ("old", "new"))


@pytest.mark.parametrize("direction", ASKED)
def test_rules_of_audits_are_those_of_the_old_library(migrated, direction):
    code, found = migrated(direction, *ASKED[direction], "--no-run", "--fail-on", "rules")
    wrong = [(line["source"], line["rules"]) for line in found["lines"] if line["rules"]]
    assert code == 0 and not wrong
    assert len(found["lines"]) == len(ASKED[direction][1].split(","))
