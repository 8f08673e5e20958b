"""Kernels of two sides are held against each other: each difference that was planted in a source is named."""

import pytest

import ckprof
from ckprof.kernels.requests import BuildOptions
from ckprof.measure.options import RunOptions
from ckprof_plugins.old_ck.migration import MigrateOptions, migrate
from ckprof_plugins.old_ck.pairs import Agreement, Loss
from plugins.old_ck.tests.planted import planted
from tests.cases import Cases

QUICK = RunOptions(rounds=1, passes=1, min_samples=1, max_time_s=0.001)
REJECTED = "bool rejected = false;"
DONE = "        return ave_time;\n    }\n#endif"


def rejecting(condition):
    """Return a launcher's own condition that the old kernel does not have."""
    report = 'if(rejected) report(context, "planted", "is not met");'
    return REJECTED, f"bool rejected = {condition}; {report}"


SUPPORT, RESULTS, SPLITS, STRINGS = Loss.SUPPORT, Loss.RESULTS, Loss.SPLITS, Loss.STRINGS
ASKED = "return Kernel::IsSupported"
#: number of a kernel -> what is replaced in its source, what is lost, and which conditions are dropped
PLANTED = {
    1: (("sizeof(WorkspaceDataType);", "2 * sizeof(WorkspaceDataType);"), {SPLITS}, set()),
    # automatic splits are halved until they are supported
    2: (rejecting("k_batch > 1"), {SUPPORT, SPLITS}, set()),
    6: (("VectorSizeA = 4;", "VectorSizeA = 8;"), {SUPPORT, STRINGS}, set()),
    # atomic additions need pairs
    7: (("VectorSizeC = 2;", "VectorSizeC = 1;"), {SUPPORT, SPLITS, STRINGS}, set()),
    8: (("return Kernel::MakeKernelArgs(args).k_batch;", "return args.N_ > 0;"), {SPLITS}, set()),
    9: ((ASKED, f"return true || {ASKED[7:]}"), {SPLITS}, {"vector-a", "vector-b", "split-k"}),
    10: (rejecting("param.C_ % 3 == 0"), {SUPPORT}, set()),
    11: ((DONE, f"static_cast<std::uint16_t*>(args.wei_ptr)[0] = 0x4800;{DONE}"), {RESULTS}, set()),
    12: (("::Filter1x1Stride1Pad0;", "::Default;"), {STRINGS}, {"specialization"}),
    13: (("GetInstanceString()", 'GetInstanceString() + "planted"'), {STRINGS}, set()),
    14: ((DONE, f"static_cast<std::uint16_t*>(args.wei_ptr)[0] ^= 1;{DONE}"), {RESULTS}, set()),
    15: ((DONE, f'throw std::runtime_error("planted");{DONE}'), {RESULTS}, set()),
}


@pytest.fixture(scope="module")
def profiler():
    return ckprof.Profiler()


@pytest.mark.thorough
@pytest.mark.compiler
@pytest.mark.usefixtures("quick_compiler")
def test_each_planted_difference_is_named(profiler, tmp_path):
    query = ckprof.InstanceQuery(conf="backward_weight/tests/nhwgc_fp16")
    kernels = profiler.instances(query).candidates
    lines = {
        str(number): (kernels[number], planted(kernels[number], *change))
        for number, (change, *_) in PLANTED.items()
    }
    # the same on both sides
    lines["5"] = kernels[5], kernels[5]
    new, old = (BuildOptions(build_dir=tmp_path / side) for side in ("new", "old"))
    options = MigrateOptions(build=new, old_build=old, random=300, checked=2, run=QUICK)
    found = {pair.source: pair for pair in migrate(profiler, lines, options).pairs}
    assert not found["5"].losses and not found["5"].conditions(found["5"].old)
    assert set(found["5"].agreements.values()) == {Agreement.EQUAL}
    with Cases() as cases:
        for number, (change, lost, dropped) in PLANTED.items():
            with cases.case(number, *change):
                pair = found[str(number)]
                assert pair.losses.keys() - {Loss.SLOWER} == lost
                assert {rule for rule, *_ in pair.conditions(pair.old)} == dropped
