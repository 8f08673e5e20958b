"""Output of ckProfiler, old and new, as an instance list; every revision is recognised by its spelling."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.errors import ListError, PluginError
from ckprof.model.conversion import ConversionRequest
from ckprof.model.types import DataType
from ckprof_converters.families import FAMILIES as TABLES
from ckprof_converters.grammar import in_every_revision
from ckprof_converters.lines import instance_in, looks_like_log
from ckprof_plugins.directions._convolution.layout import find_layout
from tests.cases import each
from tests.converters.samples import FAMILIES, SHORT, line

NATIVE = line("native_forward")
OTHER = NATIVE.replace("64,64,64", "128,64,64")
TYPE_STRING = line("short_forward_v3")

#: what the old library's profiler prints for one problem
OLD_LOG = f"""\
./bin/ckProfiler grouped_conv_bwd_weight 1 2 1 1 0 1 2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1 all
input: dim 5, lengths {{1, 4, 64, 28, 28}}, strides {{64, 50176, 1, 1792, 64}}
weight: dim 5, lengths {{1, 64, 64, 3, 3}}, strides {{36864, 576, 1, 192, 64}}
ckProfiler found 3 instances
Perf:    0.0451 ms, 42.6 TFlops, 88.2 GB/s, {TYPE_STRING}, SplitK 1
Perf:    0.0351 ms, 52.6 TFlops, 98.2 GB/s, {TYPE_STRING}, SplitK 7 (best occupancy)
{line("short_forward_large_tensor")} does not support this problem
max err: 0.5, number of errors: 3, 1% wrong values
Fail info: splitK: 2 {line("short_forward")}
\x1b[36mvalids: 1\x1b[0m

Best configuration parameters:
name: {TYPE_STRING} (instance 0)
avg_time: 0.0351
tflops: 52.6
GB/s: 98.2, SplitK 7
"""

#: what the profiler of CK Tile's kernels prints
NEW_LOG = f"""\
IMPORTANT: Generate instances using generate_instances.py
[Valid] Perf:    0.0451 ms, 42.6 TFlops, 88.2 GB/s, {NATIVE} (instance 0)
[Not Validated] Perf:    0.04 ms, {OTHER}, SplitK 4
\x1b[31m[Error] {OTHER} (instance 1)\x1b[0m
[Not supported] {NATIVE}
[0] {NATIVE} (SplitK=4)
Total: 2 valid instances
Best configuration parameters:
\tname: {NATIVE} (instance 0)
\tavg_time: 0.0451ms
"""


def test_a_log_of_the_old_profiler(convert):
    conversion = convert(
        OLD_LOG.encode(), name="ckprofiler.log", layout=find_layout("nhwgc"), dtype=DataType.FP16
    )
    (catalog,) = conversion.catalogs
    assert [record.id for record in catalog.records] == [4, 6, 8]
    assert conversion.dropped_by_rule == {"log-text": 10, "duplicate": 2, "blank": 1}
    assert {line for line, why in conversion.dropped.items() if why.rule == "duplicate"} == {6, 13}


def test_a_log_of_the_new_profiler(convert):
    conversion = convert(NEW_LOG.encode(), name="tile.txt")
    (catalog,) = conversion.catalogs
    assert [record.tile_m for record in catalog.records] == [64, 128]
    assert conversion.dropped_by_rule == {"log-text": 4, "duplicate": 4}


@pytest.mark.parametrize(
    "printed",
    [
        "{} does not support this problem",
        "{} skipped",
        "Fail info: {}",
        "Fail info: splitK: 2 {}",
        "Perf:          0 ms, inf TFlops, inf GB/s, {}, SplitK 7 (best occupancy)",
        "name: {}",
    ],
)
def test_every_line_that_names_an_instance(printed):
    """As the profilers of 2024 and of November 2025 print them."""
    for text in (TYPE_STRING, f"{TYPE_STRING} BlkSize: 64, Vec: 8x8"):
        assert instance_in(printed.format(text))[0] == text
    assert instance_in("a < b") == instance_in("ab") == ("", 0) and instance_in("and Name<1>") is None


CALL = "1 1 0 1 2 0 1 2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1"


@pytest.mark.parametrize(
    ("before", "kept", "lossy"),
    [
        (f"./ckProfiler grouped_conv_fwd_clamp {CALL}\ninput: dim 5", ("Clamp", None), ""),
        (f"./ckProfiler grouped_conv_fwd_bias_clamp {CALL}\nbias: dim 5", ("AddClamp", "NHWGK"), ""),
        ("input: dim 5\nbias: dim 5", (None, None), "a bias that is added to the results"),
        ("input: dim 5\nscale_in: 0.5", (None, None), "scales that the results are multiplied with"),
        (f"./ckProfiler grouped_conv_fwd {CALL}\ninput: dim 5", (None, None), ""),
        ("input: dim 5\nbias: dim 5\nckProfiler found 0 instances\ninput: dim 5", (None, None), ""),
        (f"ckProfiler grouped_conv_fwd_clamp {CALL}\n+ ckProfiler grouped_conv_fwd {CALL}", (None, None), ""),
    ],
)
def test_the_command_says_what_type_strings_do_not(convert, before, kept, lossy):
    """Instances with an element-wise operation have the type strings of those without one."""
    log = f"{before}\nPerf: 0.05 ms, 42.6 TFlops, 88.2 GB/s, {TYPE_STRING}\n"
    conversion = convert(log.encode(), name="log.txt", layout=find_layout("nhwgc"), dtype=DataType.FP16)
    assert [*conversion.lossy.values()] == ([lossy] if lossy else [])
    (record,) = conversion.catalogs[0].records
    assert (record.elementwise_op, record.d_layouts) == kept


def test_what_is_recognised(converter):
    for name, data, known in (
        *[("run.log", log.encode(), True) for log in (OLD_LOG, NEW_LOG)],
        # a list is no log: there, text without an instance is an error
        *[("run.log", b"Perfect: 1 ms\n", False), ("a.txt", b"just words\n", False)],
        *[("a.txt", b"# x\n" + line("forward").encode(), True), ("a.conf", b"\0", True)],
    ):
        assert converter.recognises(ConversionRequest(path=Path(name), data=data)) is known


def test_remarks_of_lists_make_no_log():
    """What profilers print of an instance stands right behind it."""
    assert not looks_like_log(b"Name<1, 2> # skipped\n")
    assert not looks_like_log(b"# Name<1, 2> is not skipped any more\n")
    assert looks_like_log(b"Name<1, 2> skipped\r\n")
    assert looks_like_log(b"\x1b[31mName<1, 2> Key: 3 does not support this problem\x1b[0m\n")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_in_a_log(convert, family):
    text = line(family)
    request = {"layout": find_layout("nhwgc")} if family in SHORT else {}
    listed = convert(text, dtype=DataType.FP16, **request)
    timed = f"Perf:     1e-05 ms, inf TFlops, 88.2 GB/s, {text}, SplitK -1"
    logged = convert(timed, dtype=DataType.FP16, **request)
    assert logged.catalogs == listed.catalogs


def test_a_listing_is_a_plain_list(convert):
    assert len(convert(NATIVE, OTHER, name="instances.txt").catalogs[0].records) == 2


def test_wrong_lines_of_logs(errors_of):
    good = f"[Valid] Perf: 0.1 ms, {NATIVE}"
    cut = good[:-20]
    name = "GroupedConvolutionForwardKernel"
    other = f"Speed: 0.1 ms, {NATIVE}"
    tail = f"{good} and more"
    wrong = good.replace("64,64,64", "64,x,64")
    assert errors_of(good, cut, other, tail, wrong) == [
        f"list.conf:2:{len(cut) + 1}: the line ends without '>' (arguments of {name})",
        "list.conf:3:16: the instance begins here: remove what stands in front of it, 'Speed: 0.1 ms,'",
        f"list.conf:4:{len(good) + 2}: unexpected text behind '>': 'and more'",
        f"list.conf:5:{wrong.index(',x,') + 2}: expected an integer for tile_n (argument 14), got 'x'",
    ]


def test_logs_that_name_no_layout(errors_of):
    (message,) = errors_of(OLD_LOG.encode(), name="nothing.log")
    assert "neither the lines nor the file name say the layout: pass --layout (and 4 more lines)" in message


def test_items_of_other_lists_stand_in_logs():
    for item in (f"- {NATIVE}", f'"{NATIVE}",', f"[Valid] Perf: 0.1 ms, {NATIVE},"):
        assert instance_in(item) == (NATIVE, item.index(NATIVE))


def test_places_are_those_of_the_coloured_line():
    assert instance_in(f"\x1b[36m[Valid] Perf: 0.1 ms, {NATIVE}\x1b[0m") == (NATIVE, 27)


MARKED = [
    f"# {NATIVE}",
    f"; {NATIVE}",
    f"// {NATIVE}",
    f"  //{NATIVE}",
    f"{NATIVE}  // fast",
    f"{OTHER} # was {NATIVE}",
    f"{OTHER} ; slow",
]
PERF = f"Perf: 0.05 ms, 42.6 TFlops, 88.2 GB/s, {NATIVE}, SplitK 1"


@pytest.mark.parametrize("perf", [(), (PERF,), (f"{PERF} # of yesterday",)])
def test_comments_are_read_alike_with_and_without_a_line_of_a_log(convert, perf):
    """A line that was pasted out of a log changes nothing for those around it."""
    text = "\n".join([*MARKED, *perf, ""])
    conversion = convert(text.encode(), name="nhwgc_fp16.conf", layout=find_layout("nhwgc"))
    (catalog,) = conversion.catalogs
    assert [record.id for record in catalog.records] == [4, 5]
    rules = {line: why.rule for line, why in conversion.dropped.items()}
    assert [rules.get(number) for number in range(1, 8)] == [*["comment"] * 4, None, None, "duplicate"]
    assert len(perf) == (rules.get(8) == "duplicate")


BY_ID = {family.id: family for family in TABLES}

V3 = line("forward_v3")
#: the same instance as the first revision prints it: LDS flags as numbers, no number of merged groups
OLD_V3 = V3.removesuffix(",1>").replace(",false,Seq", ",0,Seq").replace(",false,1,1,Seq", ",0,1,1,Seq") + ">"


def test_old_and_new_spellings_of_a_line_are_one_instance_each(convert):
    assert V3.endswith(",1>")
    assert OLD_V3.count(",") == V3.count(",") - 1
    (old,), (new,) = convert(OLD_V3).catalogs, convert(V3).catalogs
    assert old.records == new.records
    both = convert(V3, OLD_V3)
    assert len(both.catalogs[0].records) == 1
    assert [(line, why.rule) for line, why in both.dropped.items()] == [(2, "duplicate")]
    (catalog,) = convert(V3.removesuffix("1>") + "8>", OLD_V3).catalogs
    assert [record.num_groups_to_merge for record in catalog.records] == [8, 1]


def test_native_lines_and_flags_of_older_ones(convert):
    fields = line("native_forward").split(",")
    older = ",".join(fields[:11] + fields[12:])
    assert convert(older).catalogs[0].records == convert(line("native_forward")).catalogs[0].records
    without_direct_load = V3.replace(",false,1>", ",1>")
    with pytest.raises(ListError, match="expected one of false, true for direct_load"):
        convert(without_direct_load)


@each(family=TABLES)
def test_no_two_spellings_have_as_many_arguments(family):
    counts = [spelled.accepted_counts for spelled in in_every_revision(family)]
    assert len(set(itertools.chain(*counts))) == sum(map(len, counts))


def test_families_whose_revisions_leave_out_different_fields_are_reported(monkeypatch):
    family = BY_ID["forward_v3"]
    monkeypatch.setattr("ckprof_converters.grammar.all_revisions", lambda: _two_of_one_length(family.id))
    with pytest.raises(PluginError, match="as many arguments as those of another"):
        list(in_every_revision(family))
    assert list(in_every_revision(replace(family, string_kind="another"))) == [
        replace(family, string_kind="another")
    ]


def _two_of_one_length(kind):
    from ckprof.model.strings.kind import find_revision

    first = find_revision("2025-11")
    absences = ({"num_groups_to_merge": "1"}, {"direct_load": "0"})
    return [
        type(first)(name=name, note="", absent={kind: absent}, flag_words={})
        for name, absent in zip("ab", absences, strict=True)
    ]
