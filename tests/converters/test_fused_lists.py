"""The lists of old CK's factories with an element-wise operation: how many convert, and what they lose."""

from collections import Counter
from pathlib import Path

import pytest

from ckprof.model.conversion import ConversionRequest
from ckprof.paths import conf_root
from ckprof_converters.drop_rules import DropRule
from ckprof_converters.library_lists import known_lists

#: name of a factory of forward -> its operation, and how many lists and lines of it there are
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
    "scaleadd_ab": ("ScaleAdd", 8, 56),
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
    """All twelve factories of forward, all four of gradients."""
    dropped = Counter()
    kept = lines = lists = 0
    operations = set()
    for path, conversion in conversions(converter, conf_root() / folder / name, DIRECTIONS[folder]):
        assert not conversion.lossy, path
        dropped.update(why.rule for why in conversion.dropped.values())
        for catalog in conversion.catalogs:
            kept += len(catalog.records)
            operations |= {record.elementwise_op for record in catalog.records}
        lines += len(path.read_text().splitlines())
        lists += 1
    operation, *counts = ALL[folder, name]
    assert (operations, [lists, lines]) == ({operation}, counts)
    assert kept + dropped.total() == lines
    assert set(dropped) <= RULES


def factories_without_loss(lists):
    """Return the factories all of whose lists keep every line, but for what rules leave out; and all of them.

    :param lists: name of a factory -> its conversions.
    """
    kept = {
        name
        for name, conversions in lists.items()
        if conversions
        and all(not one.lossy and set(one.dropped_by_rule) <= {*RULES, "comment"} for one in conversions)
    }
    return kept, set(lists)


def test_how_many_factories_ship_without_loss(converter):
    """The count that docs/epilogues.md names."""
    names = known_lists().directions["fwd"].fused
    lists = {
        name: [one for _, one in conversions(converter, conf_root() / "forward" / name, "fwd")]
        for name in names
    }
    kept, known = factories_without_loss(lists)
    assert known == kept
    told = f"all {len(known)} factories of forward with an operation"
    assert told in (Path(__file__).parents[2] / "docs" / "epilogues.md").read_text()
