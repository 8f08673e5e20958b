"""Which questions the rules of audits answer of a kernel, and what they say."""

import importlib.util
from dataclasses import replace

import pytest

from ckprof.kernels.requests import InstanceQuery
from ckprof.measure.worker.messages import SupportQuery
from ckprof.profiler import Profiler
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem
from ckprof_plugins.elementwise.combination import Combination
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.old_ck.rules import ruled

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ckprof_plugins.consumers") is None, reason="the rules are another package's"
)


def test_problems_of_the_kernels_own_operation_are_judged():
    profiler = Profiler()
    query = InstanceQuery(
        conf="forward/bias_clamp/tests/nhwgc_fp16",
        pipelines="old-ck",
        filters='specialization == "Default"',
    )
    kernel = profiler.instances(query).candidates[0]
    operation = kernel.instance.elementwise_op
    plain = profiler.registry.operation("fwd").default_problem[2]
    plain = replace(plain, in_channels=64, out_channels=64)
    odd = replace(plain, in_channels=7)
    asked = [
        SupportQuery(problem, 1)
        for problem in (
            plain,
            *(FusedConvProblem.of(one, Combination.usual(operation)) for one in (plain, odd)),
            FusedConvProblem.of(plain, Combination.usual(ElementwiseOp.CLAMP)),
        )
    ]
    found = ruled(kernel.instance_string, "list.conf:1", operation, asked, "gfx942")
    assert found.keys() == {1, 2} and not found[1]
    assert found[2].startswith("the input is read by vectors of 8, which do not divide C = 7")
    assert ruled(kernel.instance_string, "list.conf:1", None, asked, "gfx942").keys() == {0}
