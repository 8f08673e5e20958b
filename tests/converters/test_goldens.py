"""Upstream's lists give the catalogs of upstream's converter, byte for byte; ours account for every line."""

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from ckprof.lists.catalogs import render_catalog
from ckprof.model.conversion import ConversionRequest, ListReading, ListState
from ckprof.paths import conf_root
from ckprof_converters.drop_rules import DropRule
from ckprof_converters.library_lists import known_lists
from ckprof_converters.list_tree import DIRECTION_FOLDERS
from tests.cases import each
from tests.converters import reference
from tests.convolution_lists import CONVOLUTION_LISTS

GOLDEN = Path(__file__).parent.parent / "golden" / "catalogs"
CATALOGS = sorted(path.relative_to(GOLDEN) for path in GOLDEN.rglob("*.json"))
LISTS = CONVOLUTION_LISTS


@pytest.fixture(scope="module", params=[False, True], ids=["our-comments", "upstream-comments"])
def plan(converter, upstream_lists, request):
    return converter.plan_tree(upstream_lists, ListReading(upstream_comments=request.param))


def test_there_is_something_to_compare(plan):
    assert len(CATALOGS) == 21
    assert len(LISTS) == 188
    assert len(plan[0]) == 66
    assert {item.state for item in plan[1]} == {ListState.CONVERTED}


@each(name=CATALOGS)
def test_catalogs_are_reproduced_byte_for_byte(plan, name):
    (found,) = (item for item in plan[0] if item.path == name)
    assert render_catalog(found.catalog).encode() == (GOLDEN / name).read_bytes()


@each(name=LISTS)
def test_every_shipped_list_accounts_for_every_line(converter, name):
    path = conf_root() / name
    conversion = converter.convert(
        ConversionRequest(path=path, data=path.read_bytes(), direction=DIRECTION_FOLDERS[name.parts[0]])
    )
    accounted = [*conversion.dropped, *set(conversion.source_lines.values())]
    assert sorted(accounted) == list(range(1, conversion.lines + 1))
    assert conversion.lines == len(path.read_text().splitlines())
    for catalog in conversion.catalogs:
        text = render_catalog(catalog)
        assert json.dumps(json.loads(text), indent=2) == text


@pytest.mark.parametrize(
    "table",
    [pytest.param((16, 32), id="newer"), pytest.param((8, 16), id="older", marks=pytest.mark.thorough)],
)
def test_all_catalogs_are_those_of_an_independent_reading(converter, monkeypatch, table):
    for dtype in ("fp16", "bf16"):
        monkeypatch.setitem(reference.KM, dtype, table)
    plan = converter.plan_tree(conf_root(), ListReading(mma_k_table=table))
    for planned in plan[0]:
        texts = [source.read_text().splitlines() for source in planned.sources]
        catalog = planned.catalog
        expected = reference.catalog(
            texts[0], catalog.variant, catalog.layout.name, catalog.dtype.value, *texts[1:]
        )
        assert render_catalog(catalog) == expected, planned.path


@each(name=[name for name in LISTS if name.parts[1] == "tests"])
def test_remarks_behind_instances_in_both_readings(converter, name):
    """Upstream loses such lines as a whole; ckprof reads the lists as if the annotations were not there."""
    path = conf_root() / name
    lines = path.read_text().splitlines()

    def convert(changed, **options):
        data = "\n".join(changed).encode()
        return converter.convert(ConversionRequest(path=path, data=data, **options)).catalogs

    remarked = [f"{text} {'#;'[index % 2]} tuned" if index % 3 else text for index, text in enumerate(lines)]
    lost = ["#" if index % 3 else text for index, text in enumerate(lines)]
    assert convert(remarked) == convert(lines)
    assert convert(remarked, upstream_comments=True) == convert(lost)
    assert convert(lines) != convert(lost)


@pytest.mark.parametrize(
    "path", sorted(conf_root().glob("forward/typestring/*.conf")), ids=lambda path: path.name
)
def test_short_lists_agree_with_the_full_ones(converter, path):
    """Both hold the same instances in the same order; short lines only lack K1."""

    def records(source):
        data = source.read_bytes()
        (catalog,) = converter.convert(ConversionRequest(path=source, data=data)).catalogs
        return [msgspec.structs.asdict(record) for record in catalog.records]

    short, full = records(path), records(conf_root() / "forward" / "profiler" / path.name)
    differing = {key for a, b in zip(short, full, strict=True) for key in a if a[key] != b[key]}
    assert differing == ({"warp_tile_k"} if "fp32" in path.name else set())


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
