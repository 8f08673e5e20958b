"""The plugin keeps its contract, and its kernels compute what they should in every type."""

from pathlib import Path

import pytest
from ckprof_naive_gather import plugin
from ckprof_naive_gather.record import DTYPES

from ckprof.testing import check_contract, run_instance, write_list

LIST = Path(__file__).parent.parent / "naive.conf"
#: strides, two groups, channels and sizes that are no round numbers
PROBLEM = "conv -n 2 -c 16 -H 9 -W 7 -k 12 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -g 2 -F 1"


def test_the_contract():
    check_contract(plugin, LIST)


@pytest.mark.parametrize("dtype", [dtype.value for dtype in DTYPES])
def test_each_type(dtype, tmp_path):
    conf = write_list(tmp_path / "types_nhwgc.conf", [f"NaiveGatherForward<{dtype},16,4>"])
    result = run_instance(conf, plugin, problem=PROBLEM, build_dir=tmp_path / "build")
    assert result.status.value == "ok", result.reason


def test_too_many_channels_per_step(tmp_path):
    conf = write_list(
        tmp_path / "wide_nhwgc.conf", ["NaiveGatherForward<fp32,16,4>", "NaiveGatherForward<fp32,16,65>"]
    )
    result = run_instance(conf, plugin, problem=PROBLEM, index=1, build_dir=tmp_path / "build")
    assert result.status.value == "unsupported" and "65 channels" in result.reason
