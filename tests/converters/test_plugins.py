"""Families of plugins: a third party's table and record type work like the shipped ones."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ckprof import hookimpl
from ckprof.errors import InputError, PluginError
from ckprof.lists.catalogs import read_catalog, render_catalog
from ckprof.model.conversion import ConversionRequest
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import Field
from ckprof.model.types import DataType
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.protocols import CatalogVariant
from ckprof.plugin.registry import Registry
from ckprof_converters.conf_family import ConfFamily, StepError
from ckprof_converters.converter import ConfConverter
from ckprof_converters.families import FAMILIES
from ckprof_converters.records import GemmRecord
from ckprof_plugins.directions._convolution.layout import LAYOUTS, find_layout

from .samples import line


class WinogradRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kernel family that ckprof does not know."""

    id: int
    tile: int
    points: int
    fused: bool


def area(values, properties):
    if values["tile"] > 8:
        raise StepError("the tile is too large", "tile")
    values["points"] = (values["tile"] + 2) ** 2
    return UnmetRequirement(rule="too-small", message="nobody needs it") if values["tile"] == 1 else None


WINOGRAD = ConfFamily(
    id="winograd",
    title="Winograd",
    direction="fwd",
    variant="winograd",
    record_type=WinogradRecord,
    names=("WinogradKernel",),
    fields=(
        Field("layout", kinds.LAYOUT, read=False),
        Field("tile", kinds.POSITIVE),
        Field("fused", kinds.FLAG),
    ),
    layout="nhwgc",
    needs_dtype=False,
    steps=(area,),
)


class Plugin:
    """What an out-of-tree package would offer."""

    @hookimpl
    def ckprof_register(self, registry):
        registry.add(
            WINOGRAD,
            CatalogVariant(name="winograd", direction="fwd", record_type=WinogradRecord, layouts=LAYOUTS),
        )


@pytest.fixture
def registry():
    manager = PluginManager()
    manager.load_all()
    manager.register(Plugin(), "winograd")
    return Registry(manager)


def test_a_family_of_a_plugin_is_converted_beside_the_shipped_ones(registry):
    converter = registry.converters.find("conf")
    data = f"WinogradKernel<NHWGC,2,true>\nWinogradKernel<NHWGC, 1, 0>\n{line('forward')}\n".encode()
    request = ConversionRequest(path=Path("x.conf"), data=data, dtype=DataType.FP16, direction="fwd")
    conversion = converter.convert(request)
    by_variant = {catalog.variant: catalog for catalog in conversion.catalogs}
    assert by_variant["winograd"].records == (WinogradRecord(0, 2, 16, True),)
    assert by_variant["winograd"].layout is find_layout("nhwgc")
    assert len(by_variant["forward"].records) == 1
    assert [(line, why.rule) for line, why in conversion.dropped.items()] == [(2, "too-small")]
    text = render_catalog(by_variant["winograd"])
    read = read_catalog(text.encode(), Path("x.json"), registry.variants.as_mapping())
    assert read == by_variant["winograd"]


def test_its_errors_look_like_all_others():
    mine = ConfConverter((*FAMILIES, WINOGRAD))
    for text, message in (
        ("WinogradKernel<NHWGC,9,1>", "x.conf:1:22: the tile is too large"),
        ("WinogradKernel<NHWGC,a,1>", "x.conf:1:22: expected an integer for tile (argument 2), got 'a'"),
        ("WinogradKernel<NHWGC,2>", "x.conf:1:16: Winograd needs 3 arguments, got 2"),
    ):
        with pytest.raises(InputError) as caught:
            mine.convert(ConversionRequest(path=Path("x.conf"), data=text.encode()))
        assert str(caught.value) == message


def test_the_shipped_plugin_offers_converter_families_and_variants(registry):
    assert set(registry.converters.ids) >= {"conf", "dispatcher", "exported", "traits"}
    assert set(registry.variants.ids) >= {"forward", "forward_depthwise", "bwd_data", "bwd_weight"}
    assert registry.variants.find("bwd_weight").direction == "bwd_weight"
    assert registry.converters.find("conf").label


def broken(**changes):
    return ConfFamily(
        **{
            "id": "broken",
            "title": "b",
            "names": ("B",),
            "fields": WINOGRAD.fields,
            "record_type": GemmRecord,
        }
        | changes
    )


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ((broken(steps=("fly",)),), "conf family broken: unknown step 'fly'"),
        ((broken(record_type=None),), "conf family broken: it needs fields and a record type"),
        ((broken(counts=(2,)),), "must be that of the fields"),
        ((broken(dtype_fields=("type",)),), "conf family broken: unknown field 'type'"),
        ((broken(layout="nhwcg"),), "conf family broken: unknown layout 'nhwcg'; did you mean 'nhwgc'?"),
    ],
)
def test_tables_that_contradict_themselves(families, message):
    with pytest.raises(PluginError, match=message):
        ConfConverter(families)


def test_a_family_that_leaves_a_value_out():
    converter = ConfConverter([broken(layout="nhwgc", needs_dtype=False)])
    with pytest.raises(PluginError, match="conf family broken: nothing gives a value for 'tile_m'"):
        converter.convert(ConversionRequest(path=Path("x.conf"), data=b"B<NHWGC,1,1>"))


class SequenceRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record that keeps a sequence as it is spelled."""

    id: int
    lengths: str
    tile: int


def test_arguments_that_hold_separators_themselves():
    family = ConfFamily(
        id="sequence",
        title="Sequence",
        direction="fwd",
        variant="sequence",
        record_type=SequenceRecord,
        names=("SequenceKernel",),
        fields=(Field("lengths", kinds.SEQUENCE), Field("tile", kinds.POSITIVE)),
        layout="nhwgc",
        needs_dtype=False,
    )
    data = b"SequenceKernel<Seq(4,64,1),8>\nSequenceKernel<Seq(), 4>\n"
    request = ConversionRequest(path=Path("x.conf"), data=data, dtype=DataType.FP16)
    (catalog,) = ConfConverter([family]).convert(request).catalogs
    assert catalog.records == (SequenceRecord(0, "Seq(4,64,1)", 8), SequenceRecord(1, "Seq()", 4))
