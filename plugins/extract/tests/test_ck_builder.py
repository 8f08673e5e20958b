"""What the real CK Builder prints is extracted: it is compiled from the tree ``$CK_BUILDER_ROOT``."""

import os
from collections import Counter

import pytest

from ckprof.paths import conf_root

pytestmark = [
    pytest.mark.amd,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not os.environ.get("CK_BUILDER_ROOT"), reason="needs $CK_BUILDER_ROOT"),
]

#: the first call compiles; later ones take a second
_COMPILING_S = 900


@pytest.fixture
def ckprof(ckprof_process):
    return ckprof_process


def printed(ckprof, *options):
    done = ckprof(
        *("extract", "--extractor", "reflection", "--from", os.environ["CK_BUILDER_ROOT"]),
        *(*options, "--layout", "nhwgc", "--stdout"),
        timeout=_COMPILING_S,
    ).ok()
    return done.out.splitlines()


def names_of(lines):
    return Counter(line.partition("<")[0] for line in lines)


def test_forward_is_the_shipped_list_line_for_line(ckprof):
    lines = printed(ckprof, "--direction", "fwd", "--dtype", "bf16")
    assert names_of(lines) == {
        "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle": 88,
        "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3": 252,
        "DeviceGroupedConvFwdMultipleD_Xdl_CShuffle_Large_Tensor": 3,
    }
    shipped = (conf_root() / "forward/profiler/nhwgc_bf16.conf").read_text().splitlines()
    # what changed since: LDS flags as words, the number of merged groups of V3
    assert Counter(map(as_printed_in_november, shipped)) == Counter(lines)


def as_printed_in_november(line):
    fields = line.rstrip(">").split(",")
    flags = {"true": "1", "false": "0"}
    v3 = "CShuffle_V3<" in line
    if v3:
        assert fields.pop() == "1"
    kept = [*fields[:-1], None] if v3 else fields
    changed = [
        flags.get(old, old) if old is not None else last for old, last in zip(kept, fields, strict=True)
    ]
    return ",".join(changed) + ">"


@pytest.mark.slow
def test_both_ways_through_the_tree_agree(ckprof, tmp_path):
    """Headers read without a compiler, and the Builder compiled, have the same instances."""
    root = os.environ["CK_BUILDER_ROOT"]
    read = ckprof(
        *("extract", "--from", root, "--direction", "fwd", "--layout", "nhwgc", "--dtype", "bf16"),
        *("--set", "profiler", "--stdout"),
    ).ok()
    (tmp_path / "read.conf").write_text(read.out)
    (tmp_path / "printed.conf").write_text(
        "\n".join(printed(ckprof, "--direction", "fwd", "--dtype", "bf16"))
    )
    done = ckprof(
        "diff", str(tmp_path / "read.conf"), str(tmp_path / "printed.conf"), "--direction", "fwd"
    ).ok()
    assert "343 matched, 0 missing, 0 extra" in done.out


@pytest.mark.slow
def test_backward_weight_prints_its_first_generation(ckprof):
    lines = printed(ckprof, "--direction", "bwd_weight", "--dtype", "fp32")
    shipped = (conf_root() / "backward_weight/profiler/nhwgc_fp32.conf").read_text().splitlines()
    first = [line for line in shipped if line.startswith("DeviceGroupedConvBwdWeight_Xdl_CShuffle<")]
    assert Counter(first) == Counter(lines)
