"""The chosen problems of the shipped lists: each instance supports some of them, by the host model."""

import json

import pytest

from plugins.cuda.tests.list_problems import MOST, choose, golden_name, shipped_lists

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

#: few kernels, whose answers compile fast
QUICK = "backward_weight/tests/nhwgc_fp32_streamk"


def _params():
    return [conf if conf == QUICK else pytest.param(conf, marks=pytest.mark.slow) for conf in shipped_lists()]


@pytest.mark.parametrize("conf", _params())
def test_each_instance_supports_some_of_the_chosen_problems(conf, golden):
    text, lost = choose(conf)
    assert lost == []
    assert 1 <= len(json.loads(text)["problems"]) <= MOST
    golden(golden_name(conf), text)
