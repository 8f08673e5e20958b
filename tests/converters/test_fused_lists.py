"""The lists of old CK's factories with an element-wise operation: how many convert, and what they lose."""

from __future__ import annotations

from collections import Counter

import pytest

from ckprof.model.conversion import ConversionRequest
from ckprof.paths import conf_root
from ckprof_converters.drop_rules import DropRule

#: name of a factory -> its operation, and how many lists and lines of it there are
FACTORIES = {
    "clamp": ("Clamp", 12, 1624),
    "bias_clamp": ("AddClamp", 12, 1624),
    "bias_bnorm_clamp": ("BiasNormalizeInInferClamp", 12, 1638),
    "scale": ("Scale", 8, 228),
    "bilinear": ("Bilinear", 8, 228),
    "scaleadd_scaleadd_relu": ("ScaleAddScaleAddRelu", 8, 56),
    "dynamic_op": ("DynamicUnaryOp", 8, 24),
    "convscale": ("ConvScale", 10, 285),
    "convscale_relu": ("ConvScaleRelu", 4, 114),
    "convscale_add": ("ConvScaleAdd", 2, 57),
    "convinvscale": ("ConvInvscale", 2, 57),
}
#: rules by which lines may be left out: what they leave out is no other kernel, or one that there is not
RULES = {DropRule.DUPLICATE.value, "irregular-vector", "thread-share", "one-wave-coverage"}
FORWARD = conf_root() / "forward"


def conversions(converter, folder):
    for path in sorted(folder.rglob("*.conf")):
        yield path, converter.convert(ConversionRequest(path=path, data=path.read_bytes(), direction="fwd"))


def test_the_lists_that_ship_are_those_of_these_factories():
    assert {path.parent.parent.name for path in FORWARD.glob("*/*/*.conf")} == set(FACTORIES)


@pytest.mark.parametrize("name", FACTORIES)
def test_lists_convert_without_loss(converter, name):
    """Eleven factories of the twelve of forward convolutions; docs/epilogues.md says what the other lacks."""
    dropped: Counter[str] = Counter()
    kept = lines = lists = 0
    operations = set()
    for path, conversion in conversions(converter, FORWARD / name):
        assert not conversion.lossy, path
        dropped.update(line.rule for line in conversion.dropped)
        for catalog in conversion.catalogs:
            kept += len(catalog.records)
            operations |= {record.elementwise_op for record in catalog.records}
        lines += len(path.read_text().splitlines())
        lists += 1
    operation, *counts = FACTORIES[name]
    assert (operations, [lists, lines]) == ({operation}, counts)
    assert kept + dropped.total() == lines
    assert set(dropped) <= RULES
