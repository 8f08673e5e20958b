"""The lists of old CK's factories with an element-wise operation: how many convert, and what they lose."""

from __future__ import annotations

from collections import Counter

import pytest

from ckprof.model.conversion import ConversionRequest
from ckprof.paths import conf_root
from ckprof_converters.drop_rules import DropRule

#: name of a factory of forward -> its operation, and how many lists and lines of it there are
FACTORIES = {
    "clamp": ("Clamp", 12, 1624),
    "bias_clamp": ("AddClamp", 12, 1624),
    "bias_bnorm_clamp": ("BiasNormalizeInInferClamp", 12, 1638),
    "scale": ("Scale", 6, 171),
    "bilinear": ("Bilinear", 6, 171),
    "scaleadd_scaleadd_relu": ("ScaleAddScaleAddRelu", 6, 42),
    "dynamic_op": ("DynamicUnaryOp", 6, 18),
}
#: the same of gradients; mixed types of weights have no list
GRADIENTS = {
    ("backward_data", "bilinear"): ("Bilinear", 6, 120),
    ("backward_data", "scale"): ("Scale", 6, 120),
    ("backward_weight", "bilinear"): ("Bilinear", 4, 78),
    ("backward_weight", "scale"): ("Scale", 4, 76),
}
#: rules by which lines may be left out: what they leave out is no other kernel, or one that there is not
RULES = {DropRule.DUPLICATE.value, "irregular-vector", "thread-share", "one-wave-coverage"}
ALL = {**{("forward", name): facts for name, facts in FACTORIES.items()}, **GRADIENTS}
DIRECTIONS = {"forward": "fwd", "backward_data": "bwd_data", "backward_weight": "bwd_weight"}


def conversions(converter, folder, direction):
    for path in sorted(folder.rglob("*.conf")):
        request = ConversionRequest(path=path, data=path.read_bytes(), direction=direction)
        yield path, converter.convert(request)


def test_the_lists_that_ship_are_those_of_these_factories():
    found = {path.parts[-4:-2] for folder in DIRECTIONS for path in (conf_root() / folder).glob("*/*/*.conf")}
    assert found == set(ALL)


@pytest.mark.parametrize(("folder", "name"), ALL)
def test_lists_convert_without_loss(converter, folder, name):
    """Seven of twelve factories of forward, all four of gradients; docs/epilogues.md names the others."""
    dropped: Counter[str] = Counter()
    kept = lines = lists = 0
    operations = set()
    for path, conversion in conversions(converter, conf_root() / folder / name, DIRECTIONS[folder]):
        assert not conversion.lossy, path
        dropped.update(line.rule for line in conversion.dropped)
        for catalog in conversion.catalogs:
            kept += len(catalog.records)
            operations |= {record.elementwise_op for record in catalog.records}
        lines += len(path.read_text().splitlines())
        lists += 1
    operation, *counts = ALL[folder, name]
    assert (operations, [lists, lines]) == ({operation}, counts)
    assert kept + dropped.total() == lines
    assert set(dropped) <= RULES
