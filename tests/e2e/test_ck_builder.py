"""The real CK Builder prints what lists say: its reflection is compiled from the tree ``$CK_BUILDER_ROOT``.

``python -m ckprof_plugins.targets.hip.fetch 2025-11`` prints such a tree.
"""

import json
import os
import shutil

import pytest

from ckprof.paths import conf_root

pytestmark = [
    pytest.mark.amd,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not os.environ.get("CK_BUILDER_ROOT"), reason="needs $CK_BUILDER_ROOT"),
]

#: lists of the old library's forward instances
SHIPPED = sorted(
    str(path.relative_to(conf_root()).with_suffix(""))
    for path in (conf_root() / "forward").glob("**/profiler/*.conf")
    if path.read_text().startswith("DeviceGroupedConvFwd") and "depthwise" not in path.name
)

#: of these
IN_THE_GATE = (
    # functions of templates, from which the library's build makes several sources each
    "forward/profiler/ndhwgc_fp16",
    # an operation that instances do not name, and types that differ
    "forward/convscale/profiler/ndhwgc_fp8_fp32",
    # operands of two tensors
    "forward/scaleadd_ab/profiler/ndhwgc_bf16",
)

#: the first call compiles; later ones take a second
_COMPILING_S = 900


def needs(compiler):
    """Skip what a machine without this compiler cannot do."""
    return pytest.mark.skipif(not shutil.which(compiler), reason=f"needs {compiler}")


@pytest.mark.parametrize(
    "compiler",
    [
        pytest.param("clang++-19", marks=needs("clang++-19")),
        # a step of its own runs it, nightly
        pytest.param("clang++-22", marks=(needs("clang++-22"), pytest.mark.slow)),
    ],
)
def test_forward_is_the_shipped_list_line_for_line(ckprof, compiler):
    """Forward XDL, V3 and large tensor: 343 instances of November 2025, less what later versions print."""
    done = ckprof(
        *("parity", "fwd", "--conf", "forward/profiler/nhwgc_bf16"),
        *("--builder", os.environ["CK_BUILDER_ROOT"], "--compiler", compiler),
        timeout=_COMPILING_S,
    ).ok()
    assert "as printed by CK revision 2025-11" in done.out


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in IN_THE_GATE else pytest.mark.slow) for name in SHIPPED]
)
def test_other_lists_of_forward_are_what_the_builder_prints(name, ckprof):
    done = ckprof(
        *("parity", "fwd", "--conf", name, "--builder", os.environ["CK_BUILDER_ROOT"], "--format", "json"),
        timeout=_COMPILING_S,
    ).ok()
    of_lines, _ = json.loads(done.out)["comparisons"]
    lines = (conf_root() / f"{name}.conf").read_text().splitlines()
    assert of_lines["counts"]["matched"] == len(set(lines))


def test_what_the_builder_has_no_string_for_is_left_out_and_said(ckprof):
    done = ckprof(
        *("parity", "bwd_weight", "--conf", "backward_weight/profiler/nhwgc_fp32"),
        *("--builder", os.environ["CK_BUILDER_ROOT"], "--format", "json"),
        timeout=_COMPILING_S,
    ).ok()
    for comparison in json.loads(done.out)["comparisons"]:
        assert comparison["counts"] | {"lossy": 0} == {
            **dict.fromkeys(("missing", "extra", "duplicate", "lossy"), 0),
            **{"matched": 40, "skipped": 4},
        }
        for skip in comparison["skipped"]:
            assert skip["rule"] == "no-builder-string"
            assert skip["text"].startswith("DeviceGroupedConvBwdWeight_Xdl_CShuffleV3<")
