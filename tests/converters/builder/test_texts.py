"""How many kernels a log names, however untidy it is."""

from pathlib import Path

import pytest

from ckprof.errors import InputError
from ckprof.model.conversion import ConversionRequest
from ckprof_converters.builder.texts import kernel_texts
from ckprof_converters.lines import looks_like_log

ONE, TWO = "GroupedConvolutionForwardKernel<1,a>", "GroupedConvolutionForwardKernel<2,a>"
EXPLICIT = "DeviceGroupedConvBwdWeight_Explicit_Xdl<DeviceBatchedGemmXdlUniversal<Default, CRR> BlkSize: 256>"


def texts(*lines, end="\n"):
    request = ConversionRequest(path=Path("x.log"), data=(end.join(lines) + end).encode())
    found, notes = kernel_texts(request, {"Winograd"}.__contains__)
    return [(text.text, text.line) for text in found], (looks_like_log(request.data), *notes)


def test_a_log_of_the_tile_profiler():
    found, whole = texts(
        "IMPORTANT: Generate instances using generate_instances.py",
        f"[Valid] Perf:     0.5 ms, 1.5 TFlops, 20 GB/s, {ONE} (instance 0)",
        f"[Not supported] {TWO}",
        "Best configuration parameters:",
        f"\tname: {ONE} (instance 0)",
        "\tavg_time: 0.5ms",
    )
    assert found == [(ONE, 2), (TWO, 3)]
    assert whole == (True,)


def test_a_log_of_the_old_profiler():
    found, _ = texts(
        "found 2 instances",
        f"Perf: 0.1 ms, 3 TFlops, 9 GB/s, {ONE}, SplitK 1",
        f"Perf: 0.2 ms, 3 TFlops, 9 GB/s, {ONE}, SplitK 2",
        f"{TWO} does not support this problem",
        f"Fail info: splitK: 2 {ONE}",
        f"Perf: 0.2 ms, 3 TFlops, 9 GB/s, {EXPLICIT}, SplitK 7 (best occupancy)",
        "std::vector<int> is not a kernel",
    )
    assert found == [(ONE, 2), (TWO, 4), (EXPLICIT, 6)]


def test_instances_are_counted():
    found, _ = texts("Perf: 1 ms, Winograd<4,1>", "note: std::vector<int>, Other<2>")
    assert found == [("Winograd<4,1>", 1)]
    found, _ = texts(*(f"[Valid] Perf: 1 ms, {ONE} (instance {number})" for number in (0, 4, 0)))
    assert found == [(ONE, 1), (ONE, 2)]
    found, _ = texts(f"Perf: 1 ms, {ONE}", f"Perf: 1 ms, {ONE}")
    assert found == [(ONE, 1), (ONE, 2)]
    run = ["found 3 instances", f"Perf: 1 ms, {ONE}", f"Perf: 1 ms, {ONE}", f"Perf: 1 ms, {TWO}"]
    found, _ = texts(*run, *run)
    assert found == [(ONE, 2), (ONE, 3), (TWO, 4)]
    found, _ = texts("Best configuration parameters:", f"name: {ONE}", f"name: {ONE}")
    assert found == [(ONE, 2)]


def test_colours_line_ends_and_lines_run_together():
    found, _ = texts(
        f"\x1b[36m[Valid] Perf: 1 ms, {ONE} (instance 0)\x1b[0m[Not supported] {TWO}",
        f"\x1b]0;title\x07[Not supported] {TWO.replace('2', '3')}",
        end="\r\n",
    )
    assert found == [(ONE, 1), (TWO, 1), (TWO.replace("2", "3"), 2)]


def test_wrong_results_and_lines_that_are_cut_off_are_noted():
    found, whole = texts(
        f"[Valid] Perf: 1 ms, {ONE}", f"\x1b[31m[Error] {TWO}, SplitK 4\x1b[0m", f"[Error] {TWO}"
    )
    assert found == [(ONE, 1), (TWO, 2)]
    note = "2 lines with [Error], the first is 2: the profiler found wrong results; only strings are compared"
    assert whole == (True, note)
    found, whole = texts(f"[Valid] Perf: 1 ms, {ONE}", f"[Valid] Perf: 1 ms, {TWO[:-3]}", end="\n")
    assert found == [(ONE, 1)]
    assert whole == (True, "line 2 is cut off within a kernel, which is not counted")


@pytest.mark.parametrize("broken", [TWO[:-3], f"{TWO[:-3]}[Valid] Perf: 1 ms, {ONE}"])
def test_lines_that_break_off_are_rejected_by_number(broken):
    with pytest.raises(InputError, match=r"x\.log:2:21: the text of Grouped.*breaks off"):
        texts(f"[Valid] Perf: 1 ms, {ONE}", f"[Valid] Perf: 1 ms, {broken}", f"[Valid] Perf: 1 ms, {ONE}")


def test_a_list_is_read_line_by_line():
    found, whole = texts(f"  {ONE}", "# annotation", "", f"\x1b[1m{TWO}\x1b[0m # annotation", end="\r\n")
    assert found == [(ONE, 1), (TWO, 4)]
    assert whole == (False,)


@pytest.mark.parametrize("perf", [(), (f"Perf: 0.1 ms, 3 TFlops, 9 GB/s, {TWO}, SplitK 1",)])
def test_comments_are_read_alike_with_and_without_a_line_of_a_log(perf):
    marked = [f"# {ONE}", f"; {ONE}", f"// {ONE}", f"{TWO} // was {ONE}"]
    found, whole = texts(*marked, *perf)
    assert found == [(TWO, 4)]
    assert whole == (bool(perf),)
