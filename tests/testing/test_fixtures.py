"""The fixtures of plugin authors, on the example package."""

import pytest

from ckprof.model.outcome import Status
from ckprof.testing import registry_with
from ckprof.testing.fixtures import ckprof_list, ckprof_registry, ckprof_run  # noqa: F401 - fixtures

LINE = "NaiveGatherForward<fp32,16,1>"


PROBLEM = "conv -n 2 -c 16 -H 9 -W 9 -k 12 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -g 2 -F 1"


def test_a_registry_with_a_plugin(ckprof_registry, example):  # noqa: F811
    registry = ckprof_registry(example)
    assert registry.pipelines.provider("naive_gather") == "ckprof_naive_gather.plugin"
    assert "fwd" in registry.operations.ids
    assert registry_with(builtins=False).operations.ids == ()


@pytest.mark.compiler
def test_one_instance_on_the_cpu(ckprof_run, ckprof_list, example):  # noqa: F811
    conf = ckprof_list("mine.conf", [LINE, "NaiveGatherForward<fp32,64,128>"])
    result = ckprof_run(conf, example, problem=PROBLEM)
    assert result.status is Status.OK
    assert result.outcome.measurement is not None
    assert ckprof_run(conf, example, problem=PROBLEM, index=1).status is Status.UNSUPPORTED
