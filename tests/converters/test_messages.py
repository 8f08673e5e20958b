"""Every message about a wrong line, with the line and the column that it points at."""

import pytest

from ckprof.errors import ListError
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.layout import find_layout

from .samples import FAMILIES, SHORT, arguments, change, column, line, with_arguments

FORWARD = line("forward")
V3 = line("forward_v3")
EXPLICIT = line("backward_weight_explicit")
NATIVE = line("native_backward_weight")
WEIGHT_V3 = line("backward_weight_v3")

#: family, changed argument at which the message points, new text, message
ARGUMENTS = [
    ("forward", 1, "two", "expected an integer for ndim (argument 1), got 'two'"),
    ("forward", 2, "nhwgc", "expected a tensor layout for layout_input (argument 2), got 'nhwgc'"),
    ("forward", 4, "Empty", "expected a tuple for layout_extra (argument 4), got 'Empty'"),
    (
        *("forward", 6, "half"),
        "expected one of fp32, fp16, bf16, tf32, fp64, fp8, bf8, s8, s32 for type_a (argument 6), got 'half'",
    ),
    ("forward", 12, "1", "expected the name of an operation for operation_a (argument 12), got '1'"),
    (
        *("forward", 15, "Filter5x5"),
        "expected one of Default, OddC, Filter1x1Pad0, Filter1x1Stride1Pad0, Filter3x3 "
        "for specialization (argument 15), got 'Filter5x5'",
    ),
    ("forward", 16, "Pad", "expected a padding such as MNKPadding for gemm_padding (argument 16), got 'Pad'"),
    ("forward", 17, "one", "expected an integer for prefetch_stages (argument 17), got 'one'"),
    ("forward", 19, "x", "expected an integer for tile_m (argument 19), got 'x'"),
    ("forward", 19, "", "expected an integer for tile_m (argument 19), got ''"),
    ("forward", 19, "-64", "expected a positive integer for tile_m (argument 19), got '-64'"),
    ("forward", 19, "6_4", "expected an integer for tile_m (argument 19), got '6_4'"),
    ("forward", 19, "0", "expected a positive integer for tile_m (argument 19), got '0'"),
    (
        *("forward", 19, "1234567890"),
        "expected an integer of at most nine digits for tile_m (argument 19), got '1234567890'",
    ),
    (
        *("forward", 23, "9" * 5000),
        "expected an integer of at most nine digits for k1_b (argument 23), got '" + "9" * 57 + "...'",
    ),
    (
        *("forward", 28, "Seq(4,,1)"),
        "expected a sequence such as Seq(4,64,1) for cluster_lengths_a (argument 28), got 'Seq(4,,1)'",
    ),
    ("forward", 34, "True", "expected one of 0, 1, false, true for lds_extra_a (argument 34), got 'True'"),
    (
        *("forward", 48, "v1"),
        "expected one of Default, Intrawave, Interwave for loop_scheduler (argument 48), got 'v1'",
    ),
    (
        *("forward_v3", 45, "Wave"),
        "expected one of Intrawave, Interwave for scheduler (argument 45), got 'Wave'",
    ),
    ("forward_v3", 46, "v9", "expected one of v1, v2, v3, v4, v5 for version (argument 46), got 'v9'"),
    ("forward_v3", 49, "yes", "expected one of 0, 1, false, true for direct_load (argument 49), got 'yes'"),
    # What the arguments mean together.
    ("forward", 2, "GNHWC", "unknown layout GNHWC/GKYXC/NHWGK of input/weight/output (known: "),
    ("forward", 1, "3", "3 spatial dimensions do not fit layout nhwgc, which has 2"),
    ("forward", 11, "bf16", "data types within a line must agree: type_a is fp16, type_output is bf16"),
    ("forward", 19, "65", "tile_m 65 is not a multiple of 16 x 4 (MMA tile x repeats per wave)"),
    ("forward", 20, "8", "tile_n 8 is not a multiple of 16 x 1 (MMA tile x repeats per wave)"),
    ("forward", 18, "96", "block size 96 is not a multiple of 64, the lanes of 1x1 waves"),
    ("forward", 18, "32", "block size 32 is not a multiple of 64, the lanes of 1x1 waves"),
    ("native_forward", 13, "80", "tile_m 80 is not a multiple of 2 x 16 (waves x MMA tile)"),
    ("native_backward_data", 14, "16", "tile_n 16 is not a multiple of 2 x 16 (waves x MMA tile)"),
    (
        *("backward_weight_v3", 44, "2"),
        "expected one of 0, 1, false, true for direct_load (argument 44), got '2'",
    ),
    ("backward_data", 23, "4", "K1 of both operands must agree, got 8 and 4"),
    (
        *("backward_weight_explicit", 2, "BlkTile: 128x128"),
        "expected 3 integers joined by x for tile (argument 2), got '128x128'",
    ),
    ("backward_weight_explicit", 4, "K2: 4x4", "expected 'K1: ...' for k1_pair (argument 4), got 'K2'"),
    ("backward_weight_explicit", 4, "4x4", "expected 'K1: ...' for k1_pair (argument 4), got '4x4'"),
    (
        *("backward_weight_explicit", 6, "VmemReadVec: 8x8"),
        "expected vector widths such as 8x8xSeq(4) for vectors (argument 6), got '8x8'",
    ),
    (
        *("native_backward_weight", 24, "LEAN"),
        "expected one of BASIC_V1, MEMORY, COMPUTE_V3, COMPUTE_V4, COMPUTE_V5, COMPUTE_V6, BASIC_ASYNC_V1, "
        "COMPUTE_ASYNC, COMPUTE_TDM_V1, COMPUTE_TDM_V2, WAVELET for pipeline_name, got 'LEAN'",
    ),
    (
        *("native_backward_weight", 33, "3"),
        "expected one of 0, 1, 2 for streamk_reduction_strategy (argument 33), got '3'",
    ),
    (
        *("native_backward_weight", 32, "0"),
        "stream-K is not enabled: expected no reduction strategy and no persistence flag (32 arguments)",
    ),
    (
        *("short_forward_v3", 16, "BlkGemmPipelineVersion: v7"),
        "expected one of v1, v2, v3, v4, v5, v6 for version (argument 16), got 'v7'",
    ),
    ("depthwise", 1, "a", "expected an integer for tile_h (argument 1), got 'a'"),
]


def _columns_of_value(text, position):
    """Return the column of an argument's value, behind its label."""
    value = arguments(text)[position - 1]
    label, colon, rest = value.partition(": ")
    return column(text, position) + (len(label) + 2 if colon and rest else 0)


@pytest.mark.parametrize(
    ("family", "position", "value", "message"), ARGUMENTS, ids=[f"{a[0]}-{a[3][:50]}" for a in ARGUMENTS]
)
def test_wrong_arguments(errors_of, family, position, value, message):
    text = change(line(family), position, value)
    request = {"layout": find_layout("nhwgc"), "dtype": DataType.FP16} if family in SHORT else {}
    (found,) = errors_of("# first", f"  {text}", **request)
    start, _, rest = found.partition(": ")
    assert rest == message or (message.endswith("(known: ") and rest.startswith(message))
    assert start == f"list.conf:2:{2 + _columns_of_value(text, position)}"


OTHERS = [
    ("abc", 1, "expected Name<argument,...>, found no '<' in 'abc'"),
    ("abc>", 1, "expected Name<argument,...>, found no '<' in 'abc>'"),
    ("Name&lt;1&gt;", 5, "'&lt;' stands for '<': this is HTML, copy its text"),
    (
        FORWARD.replace(",", "\uff0c"),
        FORWARD.index(",") + 1,
        "'\uff0c' is not an ASCII character, as all of a line are",
    ),
    (
        change(FORWARD, 2, ",NHWGC"),
        column(FORWARD, 2),
        "forward XDL needs 49 arguments, got 50; argument 2 is blank",
    ),
    (
        change(FORWARD, 19, "-64"),
        column(FORWARD, 19),
        "expected a positive integer for tile_m (argument 19), got '-64'",
    ),
    ("<1,2>", 1, "expected the name of a kernel before '<', got ''"),
    ("a b<1,2>", 1, "expected the name of a kernel before '<', got 'a b'"),
    ("Some<1", 7, "the line ends without '>' (arguments of Some)"),
    (f"{FORWARD} tail", len(FORWARD) + 2, "unexpected text behind '>': 'tail'"),
    ("Some<1>", 1, "unknown kernel name 'Some'"),
    (change(FORWARD, 24, "32"), column(FORWARD, 25), "the MMA tile must be square, got 32x16"),
    (
        FORWARD.replace("Xdl_CShuffle<", "Xdl_CShufle<"),
        1,
        "unknown kernel name 'DeviceGroupedConvFwdMultipleABD_Xdl_CShufle'; "
        "did you mean DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle?",
    ),
    (
        FORWARD.replace("DeviceGroupedConvFwdMultipleABD_Xdl", "devicegroupedconvfwdmultipleabd_xdl"),
        1,
        "unknown kernel name 'devicegroupedconvfwdmultipleabd_xdl_CShuffle'; "
        "did you mean DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle?",
    ),
    (
        FORWARD.replace("Seq(4,16,1),Seq(0,2,1)", "Seq(4,16,Seq(0,2,1)", 1),
        column(FORWARD, 28) + 3,
        "this '(' is never closed",
    ),
    (
        FORWARD.replace("fp16", "half"),
        column(FORWARD, 6),
        "expected one of fp32, fp16, bf16, tf32, fp64, fp8, bf8, s8, s32 for type_a (argument 6), got 'half' "
        f"(and in {FORWARD.count('fp16') - 1} more of the arguments)",
    ),
    (
        f"[INFO] best: {FORWARD}",
        14,
        "the instance begins here: remove what stands in front of it, '[INFO] best:'",
    ),
    (
        FORWARD.replace("Seq(4,16,1),Seq(0,2,1)", "Seq(4,16),1),Seq(0,2,1)", 1),
        column(FORWARD, 28) + 11,
        "this ')' closes nothing",
    ),
    (
        f"{V3} {FORWARD}",
        len(V3) + 2,
        f"a second instance, of {FORWARD.partition('<')[0]}, begins here: expected one a line",
    ),
    (
        EXPLICIT * 2,
        len(EXPLICIT) + 1,
        "a second instance, of DeviceGroupedConvBwdWeight_Explicit_Xdl, begins here: expected one a line",
    ),
    ("1,2,3", 1, "depthwise forward needs 12 arguments, got 3"),
    (
        "DeviceGroupedConvBwdWeight_Explicit_Xdl<1, 2>",
        41,
        "expected DeviceBatchedGemmXdlUniversal<...> as start of backward-weight explicit GEMM",
    ),
    (
        EXPLICIT.replace("<Default, CRR>", "<CRR>"),
        71,
        "DeviceBatchedGemmXdlUniversal needs 2 arguments, got 1",
    ),
    (
        EXPLICIT.replace("CRR", "CRX"),
        80,
        "expected three matrix orders such as CRR for matrix_orders (argument 2), got 'CRX'",
    ),
    (
        NATIVE.replace(",1,2,0>", ",1>"),
        column(NATIVE, 32),
        "stream-K is enabled: expected a reduction strategy and a persistence flag (34 arguments)",
    ),
    (
        line("forward", "fp64"),
        column(FORWARD, 6),
        "data type fp64 is not supported: expected one of fp32, fp16, bf16, fp8, bf8, int8",
    ),
]


@pytest.mark.parametrize(("text", "place", "message"), OTHERS, ids=[other[2][:50] for other in OTHERS])
def test_other_wrong_lines(errors_of, text, place, message):
    assert errors_of(FORWARD, text) == [f"list.conf:2:{place}: {message}"]


COUNTS = {
    "forward": "forward XDL needs 49",
    "forward_large_tensor": "forward large tensor needs 48",
    "forward_v3": "forward XDL V3 needs 49 or 50",
    "backward_weight": "backward-weight XDL needs 43",
    "backward_weight_v3": "backward-weight XDL V3 needs 45 or 46",
    "backward_weight_two_stage": "backward-weight two-stage XDL needs 46",
    "backward_weight_explicit": "backward-weight explicit GEMM needs 9",
    "backward_data": "backward-data XDL needs 49 or 51",
    "native_forward": "native forward kernel needs 30 or 31",
    "native_backward_data": "native backward-data kernel needs 31",
    "native_backward_weight": "native backward-weight kernel needs 31 or 32 or 34",
    "short_forward": "short forward XDL needs 15",
    "short_forward_large_tensor": "short forward large tensor needs 14",
    "short_forward_v3": "short forward XDL V3 needs 16",
    "short_forward_v3_direct_load": "short forward XDL V3 with direct load needs 16",
    "short_backward_data": "short backward-data XDL needs 15",
    "depthwise": "depthwise forward needs 12",
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("off", [-1, 1])
def test_a_wrong_number_of_arguments_names_the_family_and_both_numbers(errors_of, family, off):
    text = line(family)
    values = arguments(text)
    if off < 0:
        del values[2]
    else:
        values.insert(2, values[2])
    wrong = with_arguments(text, values)
    alike = {
        *(("backward_weight_v3", 1), ("short_forward", -1), ("backward_weight_explicit", -1)),
        *(("forward_v3", -1), ("native_forward", -1)),
    }
    if (family, off) in alike:
        # Newer or older lines have that number of arguments, so the shift is found instead.
        assert "expected" in errors_of(wrong)[0]
        return
    (message,) = errors_of(wrong)
    assert message == f"list.conf:1:{message.split(':')[2]}: {COUNTS[family]} arguments, got {len(values)}"
    assert text[: int(message.split(":")[2]) - 1].endswith(("<", ">"))


def test_a_long_list_of_errors_is_cut_in_the_text_only(convert):
    with pytest.raises(ListError) as caught:
        convert(*["abc"] * 105)
    lines = str(caught.value).splitlines()
    assert len(lines) == 101
    assert lines[-1] == "... and 5 more"
    assert len(caught.value.diagnostics) == 105
    assert (caught.value.line, caught.value.column) == (1, 1)
