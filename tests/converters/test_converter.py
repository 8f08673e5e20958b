"""What a conversion remembers of lines, so that those of logs that repeat them cost little."""

from pathlib import Path

import pytest

from ckprof.model.conversion import ConversionRequest
from ckprof_converters import converter as module
from ckprof_converters.converter import ConversionRun

from .samples import as_bytes, change, line

LINES = [line("native_forward").replace("64,64,64", f"{size},64,64") for size in (64, 128, 256)]


@pytest.mark.parametrize(("most", "reads"), [(1, 4), (2, 4), (3, 3), (9, 3)])
def test_outcomes_of_lines_are_remembered_up_to_a_number(converter, monkeypatch, most, reads):
    monkeypatch.setattr(module, "_OUTCOMES", most)
    read = []

    class Counting(ConversionRun):
        def _read(self, number, *given, **named):
            read.append(number)
            return super()._read(number, *given, **named)

    texts = [LINES[0], LINES[1], LINES[2], f"{LINES[2]} ", f"{LINES[0]} "]
    run = Counting(converter.grammar, ConversionRequest(path=Path("x.conf"), data=as_bytes(*texts)))
    run.convert("conf")
    assert len(read) == reads and len(run._outcomes) <= most


@pytest.mark.parametrize(("most", "looked"), [(1, 4), (2, 4), (3, 3), (9, 3)])
def test_texts_of_lines_are_remembered_up_to_a_number(converter, monkeypatch, most, looked):
    monkeypatch.setattr(module, "_REMEMBERED", most)
    seen = []

    class Counting(ConversionRun):
        def _line(self, number, *given):
            seen.append(number)
            return super()._line(number, *given)

    texts = [LINES[0], LINES[1], LINES[2], LINES[2], LINES[0]]
    run = Counting(converter.grammar, ConversionRequest(path=Path("x.conf"), data=as_bytes(*texts)))
    found = run.convert("conf")
    assert len(seen) == looked and len(run._repeats) <= most
    # whether it is remembered or not, a line is the same as an earlier one
    assert {number: why.rule for number, why in found.dropped.items()} == {4: "duplicate", 5: "duplicate"}


def test_an_annotated_operation_is_known_to_the_steps(convert, errors_of):
    """Kernels with one may have two K1, 8 and 4 here, whose packs are of 8 elements."""
    unequal = change(line("backward_data"), 23, "4")
    assert "K1 of both operands must agree, got 8 and 4" in errors_of(unequal, name="nhwgc.conf")[0]
    annotated = f'{unequal}  # ckprof: elementwise_op="Scale"'
    (record,) = convert(annotated, name="nhwgc.conf").catalogs[0].records
    assert (record.elementwise_op, record.warp_tile_k) == ("Scale", 32)
    (error,) = errors_of(annotated, unequal, name="nhwgc.conf")
    assert error.startswith("nhwgc.conf:2:"), "a line without one is not taken for such a one"
