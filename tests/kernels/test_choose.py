"""Which instances are meant."""

import pytest

import ckprof
import ckprof.profiler
from ckprof.errors import InputError, UsageError
from ckprof.kernels.choose import shipped_list_reader

LIST = "forward/tests/nhwgc_fp16"


@pytest.fixture(scope="module")
def profiler():
    return ckprof.Profiler()


def test_positions_count_valid_and_invalid_ones_apart():
    selection = ckprof.Profiler().instances(
        ckprof.InstanceQuery(rule_set="full-tests", directions="fwd", arch="gfx942")
    )
    assert [one.index for one in selection.candidates] == list(range(len(selection.candidates)))
    assert len(selection.invalid) > 1
    assert [one.candidate.index for one in selection.invalid] == list(range(len(selection.invalid)))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (ckprof.InstanceQuery(), "no instances"),
        (ckprof.InstanceQuery(conf=LIST, rule_set="tiny"), "contradict"),
        (ckprof.InstanceQuery(conf=LIST, directions=("fwd", "bwd_data")), "one direction"),
        (ckprof.InstanceQuery(rule_set="tiny", directions=("fwd", "forward")), "named twice"),
        (ckprof.InstanceQuery(conf=LIST, ndims=(2,)), "--ndim"),
        (ckprof.InstanceQuery(conf=LIST, pipelines="nothing"), "nothing"),
        (ckprof.InstanceQuery(conf=LIST, filters="tile_m >= "), "filter"),
    ],
)
def test_contradictory_queries(profiler, query, message):
    with pytest.raises(UsageError, match=message):
        profiler.instances(query)


def test_several_directions_have_no_single_one(profiler):
    selection = profiler.instances(ckprof.InstanceQuery(rule_set="tiny", arch="gfx942"))
    with pytest.raises(UsageError, match="expected those of one direction"):
        _ = selection.direction


def test_rule_sets_read_shipped_lists_and_folders_by_name(profiler):
    read = shipped_list_reader(profiler.registry)
    chosen = profiler.instances(ckprof.InstanceQuery(conf=LIST))
    keys = [candidate.instance.key for candidate in chosen.candidates]
    assert [instance.key for instance in read(LIST)] == keys
    assert {*keys} < {instance.key for instance in read("forward/tests")}
    for name in ("no/such/folder", "forward/tests/nhwgc_fp61"):
        with pytest.raises(InputError, match=f"^{name}: no such file, and no shipped list of that name"):
            read(name)
