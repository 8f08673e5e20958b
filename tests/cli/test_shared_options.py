"""``--layout``, ``--dtype`` and ``--ndim``: those of the operation that a command names, whichever it is."""

import json

import pytest

RCR = "gemm/universal/rcr_fp16"
LISTING = ("run", "gemm", "--list-instances")


@pytest.mark.parametrize("name", ["rcr", "RCR"])
def test_layouts_of_the_operation_are_known(ckprof, name):
    code, out, _ = ckprof(*LISTING, "--conf", RCR, "--layout", name)
    assert code == 0
    assert "Total: 106 instances" in out


def test_layouts_of_another_operation_are_unknown(ckprof):
    ckprof(*LISTING, "--conf", RCR, "--layout", "nhwgc").fails_with(
        2, "--layout: unknown layout of gemm 'nhwgc' (known: rcr, rrr, ccr, crr)"
    )
    ckprof(
        "run", "fwd", "--list-instances", "--conf", "forward/tests/nhwgc_fp16", "--layout", "rcr"
    ).fails_with(2, "unknown layout of fwd 'rcr' (known: nwgc, nhwgc, ndhwgc, ngchw)")


def test_without_an_operation_all_layouts_are_known(ckprof, tmp_path):
    path = tmp_path / "catalog.json"
    assert ckprof("convert", RCR, "--layout", "rcr", "--dtype", "bf16", "-o", path)[0] == 0
    catalog = json.loads(path.read_text())
    assert (catalog["layout"], catalog["datatype"], len(catalog["instances"])) == ("rcr", "bf16", 106)
    ckprof("convert", RCR, "--layout", "rcc", "-o", path).fails_with(
        2, "unknown layout 'rcc'; did you mean", "nwgc, nhwgc"
    )


def test_a_layout_that_the_lines_contradict_is_an_error(ckprof):
    ckprof(*LISTING, "--conf", RCR, "--layout", "rrr").fails_with(
        3, "layout rcr contradicts --layout, which says rrr"
    )


@pytest.mark.parametrize(
    ("direction", "rule_set", "ndim", "message"),
    [
        ("gemm", "gemm", "2", "--ndim 2: gemm has no spatial dimensions"),
        ("fwd", "full", "4", "--ndim 4: expected 1, 2 or 3, or several joined by commas"),
        ("fwd", "full", "0", "--ndim 0: expected 1, 2 or 3"),
    ],
)
def test_dimensions_are_those_of_the_operation(ckprof, direction, rule_set, ndim, message):
    ckprof("run", direction, "--list-instances", "--rule-set", rule_set, "--ndim", ndim).fails_with(
        2, message
    )


def test_types_of_a_rule_set(ckprof):
    options = "--rule-set gemm --direction gemm --arch gfx942 --dtype int8 --ndim 0 --upstream-defects"
    code, out, _ = ckprof("list", "instances", *options.split(), "--count")
    # four layouts: without D tensors, and added to one and to two of them
    assert (code, out) == (0, f"{3 * 4 * 2**8}\n")
