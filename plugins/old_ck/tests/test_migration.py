"""Kernels of two sides are held against each other: each difference that was planted in a source is named."""

import pytest

import ckprof
from ckprof.errors import NothingLeftError, UsageError
from ckprof.kernels.requests import BuildOptions
from ckprof.measure.options import RunOptions
from ckprof_plugins.old_ck.migration import MigrateOptions, migrate
from ckprof_plugins.old_ck.pairs import Agreement, Loss
from plugins.old_ck.tests.planted import planted
from tests.cases import Cases

QUICK = RunOptions(rounds=1, passes=1, min_samples=1, max_time_s=0.001)
REJECTED = "bool rejected = false;"
DONE = "        return ave_time;\n    }\n#endif"


def lines_of(kernels, *numbers):
    """Return the kernels of some numbers with their differences."""
    return {str(at): (kernels[at], planted(kernels[at], *PLANTED[at][0])) for at in numbers}


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


@pytest.fixture(scope="module")
def kernels(profiler):
    query = ckprof.InstanceQuery(conf="backward_weight/tests/nhwgc_fp16")
    return profiler.instances(query).candidates


def apart(folder):
    """Return how both sides are built, each by itself."""
    names = {"build": "new", "old_build": "old"}
    return {option: BuildOptions(build_dir=folder / name) for option, name in names.items()}


@pytest.mark.thorough
@pytest.mark.compiler
def test_kernels_that_are_only_asked(profiler, kernels, tmp_path):
    options = MigrateOptions(**apart(tmp_path), random=100, runs=False)
    found = migrate(profiler, lines_of(kernels, 2, 11, 13), options)
    losses = {pair.source: set(pair.losses) for pair in found.pairs}
    assert losses == {"2": {SUPPORT, SPLITS}, "11": set(), "13": {STRINGS}}
    assert found.notes == ("results, machine code and times: kernels were only asked",)
    assert not any(pair.agreements or pair.timed for pair in found.pairs)


def test_numbers_of_problems_are_not_negative():
    for values, message in (({"random": -3}, "--random is -3"), ({"checked": -1}, "--results is -1")):
        with pytest.raises(UsageError, match=f"{message}, expected at least 0"):
            MigrateOptions(**values)


def test_what_has_no_kernel_is_refused(profiler, kernels):
    options = MigrateOptions(random=1)
    for lines, message in (
        ({}, "no line has a kernel of either side: the list is empty"),
        ({"a:1": ("no such class", "no such pipeline")}, "of either side: no such class"),
    ):
        with pytest.raises(NothingLeftError, match=message):
            migrate(profiler, lines, options)


@pytest.mark.thorough
@pytest.mark.compiler
def test_each_planted_difference_is_named(profiler, kernels, tmp_path):
    # that one is the same on both sides
    lines = {**lines_of(kernels, *PLANTED), "5": (kernels[5], kernels[5])}
    options = MigrateOptions(**apart(tmp_path), random=300, checked=2, run=QUICK)
    found = {pair.source: pair for pair in migrate(profiler, lines, options).pairs}
    assert not found["5"].losses and not found["5"].conditions(found["5"].old)
    assert set(found["5"].agreements.values()) == {Agreement.EQUAL}
    with Cases() as cases:
        for number, (change, lost, dropped) in PLANTED.items():
            with cases.case(number, *change):
                pair = found[str(number)]
                assert pair.losses.keys() - {Loss.SLOWER} == lost
                assert {rule for rule, *_ in pair.conditions(pair.old)} == dropped
