"""What a line is explained as."""

from pathlib import Path

from ckprof.model.conversion import ConversionRequest
from ckprof.model.types import DataType
from ckprof_converters import explanation as module
from ckprof_plugins.directions._convolution.layout import find_layout

from .samples import change, column, line


def explain(text, grammar, path=Path("line"), **reading):
    request = ConversionRequest(path=path, data=b"", **reading)
    return module.explain(text, request, None, grammar)


def test_every_argument_and_every_key_is_explained(converter):
    text = line("forward_v3")
    explained = explain(f"  {text} # annotation", converter.grammar)
    assert (explained.family, explained.direction, explained.variant) == ("forward_v3", "fwd", "forward")
    assert len(explained.fields) == 50
    tile = explained.fields[17]
    assert (tile.position, tile.name, tile.text, tile.value) == (18, "tile_m", "128", 128)
    assert (tile.column, tile.read) == (column(text, 18) + 2, True)
    assert tile.becomes == ("tile_m", "warp_m", "warp_k", "warp_tile_m")
    sequence = explained.fields[26]
    assert (sequence.name, sequence.read, sequence.becomes) == ("cluster_lengths_a", False, ())
    origins = explained.record
    assert len(origins) == 25
    assert origins["tile_m"] == (128, "argument 18")
    assert origins["warp_m"] == (2, "waves")
    assert origins["pipeline"] == ("compv4", "pipeline-of-version")
    assert [*explained.rules] == ["pipeline-of-version", "waves", "mma-k"]
    assert all(len(text) > 20 for text in explained.rules.values())
    assert origins["epilogue"] == ("cshuffle", "fixed")
    assert not explained.errors


def test_a_dropped_line_names_its_rule(converter):
    explained = explain(change(line("backward_weight"), 33, "3"), converter.grammar)
    assert (explained.rule, explained.record) == ("irregular-vector", {})
    assert explained.reason == "vector_size_b is 3, neither 1 nor even"


def test_a_wrong_line_is_explained_as_far_as_it_goes(converter):
    text = change(line("forward"), 19, "x")
    explained = explain(text, converter.grammar)
    message = "expected an integer for tile_m (argument 19), got 'x'"
    assert explained.errors == ((column(text, 19), message),)
    assert explained.fields[18].error == message
    assert explained.fields[19].value == 16
    derived = explain(change(line("forward"), 19, "65"), converter.grammar)
    assert derived.errors[0][0] == column(text, 19)


def test_short_lines_need_layout_and_type(converter):
    text = line("short_forward")
    assert "pass --layout" in explain(text, converter.grammar).errors[0][1]
    explained = explain(text, converter.grammar, layout=find_layout("nhwgc"), dtype=DataType.FP16)
    assert explained.record["warp_tile_k"][1] == "short-mma-k"
    assert "do not print K1" in explained.note
    assert not explain(text, converter.grammar, path=Path("nhwgc_fp16.conf")).errors


def test_lines_of_logs_and_remarks(converter):
    text = f"Perf:     0.0123 ms, 12.3 TFlops, 45.6 GB/s, {line('forward')}, SplitK 4"
    assert len(explain(text, converter.grammar).record) == 25
    said = explain(f"{line('native_forward')}  # ckprof: two_stage=true", converter.grammar)
    assert said.record["two_stage"] == (True, "annotation")


def test_lines_without_an_instance(converter):
    assert explain("# hello", converter.grammar).rule == "comment"
    assert explain("  ", converter.grammar).rule == "blank"
    assert explain("hello", converter.grammar).errors[0][0] == 1
    rejected = explain("DeviceGroupedConvFwdMultipleD_Wmma_CShuffle<1>", converter.grammar)
    assert (rejected.family, rejected.rule) == ("wmma", "unsupported-family")
