"""Lines of any log: what stands in them is found, in time that grows with their length alone."""

import random
import time

import pytest

from ckprof.errors import InputError
from ckprof.profiler import Profiler
from ckprof_plugins.consumers.cmd_identify import Identifier
from ckprof_plugins.consumers.log_lines import calls_in, heads_of, identifiers, printed_by_profiler, texts_of

LIST = "forward/tests/nhwgc_fp16"
TYPE = "DeviceGroupedConvF99999999999999999999wdMultipleABD_Xdl_CShuffle_V3<128, 128, 32>"
MIOPEN = "MIOpenDriver conv -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"


@pytest.fixture(scope="module")
def identifier():
    return Identifier(Profiler().registry, (LIST,))


@pytest.fixture(scope="module")
def printed(identifier):
    """What a generated kernel prints of itself, and where it is listed."""
    source, candidate = next(iter(identifier._generated.items()))
    return candidate.instance_string, source


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        (
            "[Valid] Perf: 0.5 ms, 3.1 TFlops, 40 GB/s, ",
            " (instance 7)",
            "right values, 0.5 ms, instance 7 of",
        ),
        ("[Valid] Perf: 1e-02 ms, ", " (instance 0), SplitK -1", "1e-02 ms, instance 0 of those that"),
        ("[Error] ", ", SplitK 4", "ran with wrong values, split-K 4"),
        ("[Not supported] ", "", "does not support the problem"),
        ("[12] ", "", "instance 12 of"),
        ("", " does not support this problem", "does not support the problem"),
        ("Perf: 0.25 ms, 3 TFlops, 4 GB/s, ", "", "ckProfiler: 0.25 ms"),
        ("name: ", " (instance 3)", "instance 3 of"),
    ],
)
def test_what_profilers_print_of_a_kernel(identifier, printed, before, after, note):
    string, source = printed
    found = identifier.identify(f"{before}{string}{after}")
    assert [match.source for match in found.matches] == [source]
    assert note in found.note


def test_an_odd_name_costs_its_line_alone(tmp_path, identifier):
    log = tmp_path / "miopen.log"
    key = "2x512x14x28x1x3x3x1x512x32x1x1x0x1x1x0x1x1x0x0x4xNHWCxFP32xF"
    lines = [f"[Info] {key}, content inserted: ConvHipImplicitGemmGroupFwdXdlops:{TYPE}", TYPE, MIOPEN]
    log.write_text("\n".join(lines))
    found = [identifier.identify(*text) for text in texts_of(log)]
    assert [bool(one.problem) for one in found] == [True, False, True]
    assert [one.where.rpartition(":")[2] for one in found] == ["1", "2", "3"]


def test_logs_are_neither_tables_nor_json(tmp_path):
    log = tmp_path / "any.log"
    for text in (
        "[INFO] first, line\n",
        "{ first, line\n",
        '"first, line\n',
        "Name\n",
        "Kernel Name: x, y\n",
    ):
        log.write_text(f'{text}a "b\n\x1cc\n')
        assert [one[0] for one in texts_of(log)] == [text.rstrip("\n"), 'a "b', "\x1cc"]
    table = tmp_path / "results.csv"
    table.write_text(f'Index,Name\n0,"{"a" * 200_000}"\n1,"two\nlines"\n2\n3,last\n')
    assert [where.rpartition(":")[2] for _, where, _ in texts_of(table)] == ["2", "3", "6"]
    (tmp_path / "trace.json").write_text("{ no")
    with pytest.raises(InputError, match="is no JSON"):
        next(texts_of(tmp_path / "trace.json"))


@pytest.mark.parametrize(
    "part",
    [
        *(
            "1",
            "1x1",
            "DeviceGroupedConvFwd",
            "DeviceGroupedConvFwdX<",
            "<",
            "9999a",
            "_ZN5abcde",
            "_ZN",
            "(a",
        ),
        *(
            "1x1x1x1x1x1x1x1 ",
            "GroupedConvolutionForwardKernel<",
            "ckProfiler ",
            "MIOpenDriver ; ",
            " [Valid]",
        ),
        *(
            "kernel_grouped_conv_fwd_xdl_cshuffle_v3 GridwiseGemm<",
            "kernel_grouped_conv_fwd_xdl_cshuffle_v3 7 ",
        ),
    ],
)
def test_a_long_line_takes_no_longer_than_many_short_ones(identifier, part):
    identifier.identify(f"{part} {TYPE}")
    line = part * ((1 << 18) // len(part))
    begin = time.process_time()
    identifier.identify(line)
    # a quarter of a second is usual; a search in the square of the length takes many minutes
    assert time.process_time() - begin < 20


def test_calls_and_names_in_a_text():
    heads = heads_of(r"Conv\w*")
    text = "a<b> xConvA<1> ConvA<1, B<2>> ConvB< ConvC<3> < ConvD<ConvE<4>>"
    assert calls_in(text, heads) == ["ConvA<1, B<2>>", "ConvC<3>", "ConvD<ConvE<4>>", "ConvE<4>"]
    assert {"kentry", "abc"} <= identifiers("_ZN7ck_tile6kentryE3abc")
    assert printed_by_profiler("nothing of it") == ""


def test_no_mutation_of_a_line_is_an_exception(identifier, printed):
    draw = random.Random(5)
    lines = [f"[Valid] Perf: 0.5 ms, {printed[0]} (instance 7)", MIOPEN, TYPE, f"_ZN7ck_tile{TYPE}E"]
    for _ in range(400):
        text = list(draw.choice(lines))
        for _ in range(draw.randint(1, 6)):
            place = draw.randrange(len(text))
            text[place : place + draw.randrange(3)] = draw.choice(
                ["<", ">", "9" * 30, "\0", "é", "_Z", ",", ""]
            )
        found = identifier.identify("".join(text))
        assert found.what or found.note
