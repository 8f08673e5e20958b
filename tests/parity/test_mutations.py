"""Parity is no tautology: whatever field of whatever kernel is changed, it fails and names the field."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from ckprof import hookimpl
from ckprof.errors import InputError
from ckprof.lists.list_files import read_list
from ckprof.model.catalog import Catalog
from ckprof.model.conversion import Conversion, ConversionRequest
from ckprof.model.parity import BuilderList, BuilderString
from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import Field, number
from ckprof.model.strings.kind import StringKind, default_revision
from ckprof.parity.compare import compare
from ckprof.parity.side import builder_side, catalog_side, read_builder
from ckprof.paths import conf_root
from ckprof.plugin.additions import Kind
from ckprof.plugin.protocols import ParityFormat
from ckprof.testing import registry_with
from ckprof_converters.records import DepthwiseRecord, GemmRecord
from ckprof_plugins.directions._convolution import string_kinds
from tests.parity.samples import BACKWARD_DATA, BACKWARD_WEIGHT, DEPTHWISE, FORWARD, STREAM_K

#: kind of field -> another value, and one more where the first is what stands there
OTHERS = {
    kinds.POSITIVE: ("8", "3"),
    kinds.ELEMENT_TYPE: ("fp16", "fp32"),
    kinds.LAYOUT: ("NGCHW", "NWGC"),
    kinds.TUPLE: ("Tuple(fp16)", "EmptyTuple"),
    kinds.OPERATION: ("Scale", "PassThrough"),
    **dict.fromkeys(kinds.FLAGS, ("1", "0")),
}
STRINGS = [FORWARD, BACKWARD_DATA, BACKWARD_WEIGHT, STREAM_K, DEPTHWISE]


def mutants(strings, text):
    """Every field of a string, with the text in which it alone is changed."""
    parsed = strings.parse(text)
    kind = strings.kind(parsed.kind_id)
    for index, (field, value) in enumerate(zip(kind.fields, parsed.values, strict=True)):
        if value is None or field.name in kind.literals or field.name in kind.only_if.values():
            continue
        choices = OTHERS.get(field.kind) or [*field.kind.meanings]
        other = next(choice for choice in choices if choice != value)
        values = (*parsed.values[:index], other, *parsed.values[index + 1 :])
        yield field.name, strings.render(type(parsed)(parsed.kind_id, values))


@pytest.mark.parametrize("text", STRINGS)
def test_every_field_of_every_kind_is_compared(text, registry, side_of):
    parsed = registry.strings.parse(text)
    kind = registry.strings.kind(parsed.kind_id)
    found = dict(mutants(registry.strings, text))
    printed = {name for name, value in zip(kind.field_names, parsed.values, strict=True) if value is not None}
    # the flag that other fields depend on is changed together with them, below
    assert found.keys() == printed - {*kind.literals} - {*kind.only_if.values()}
    for field, mutant in found.items():
        comparison = compare(side_of([text], "CK Builder"), side_of([mutant]), registry.strings)
        assert (comparison.matched, len(comparison.missing), len(comparison.extra)) == (0, 1, 1), field
        assert [item.field for item in comparison.missing[0].nearest.differences] == [field]


def test_turning_stream_k_off_is_seen(registry, side_of):
    comparison = compare(side_of([STREAM_K]), side_of([BACKWARD_WEIGHT]), registry.strings)
    assert not comparison.matched
    assert "streamk_enabled" in {item.field for item in comparison.missing[0].nearest.differences}


def test_every_kind_of_generated_kernels_is_covered(registry):
    covered = {registry.strings.parse(text).kind_id for text in STRINGS}
    assert covered == {kind.id for kind in string_kinds.KINDS}


#: field of a record -> field of the string that gives it away
SEEN_AS = {
    **{name: name for name in GemmRecord.__struct_fields__},
    **{name: name for name in DepthwiseRecord.__struct_fields__},
    "pipeline": "pipeline_name",
    "two_stage": "type_result",
    "filt": "filt_h",
    "elementwise_op": "operation_result",
    "dtype_b": "type_b",
    "dtype_result": "type_result",
}
#: what strings hide: the number, how results leave the registers, what operands are rounded to, how a
#: depthwise image is padded, and whether a stride is seen as channels. D tensors come with an operation,
#: see :mod:`.test_elementwise`
UNSEEN = {
    "id",
    "epilogue",
    "compute_type",
    "d_layouts",
    "d_dtypes",
    "pad_h",
    "pad_w",
    "fold_stride",
    "store_immediate",
    "channel_padding",
}
CHANGES = {
    "pipeline": "compv6",
    "scheduler": "interwave",
    "specialization": "filter3x3",
    "streamk_reduction_strategy": "LINEAR",
    "streamk_persistent": True,
    "epilogue": "default",
    "compute_type": "tf32",
    "elementwise_op": "Clamp",
    "dtype_b": "bf8",
    "dtype_result": "fp8",
}

LISTS = {
    "implicit_gemm forward": "forward/tests/nhwgc_fp16",
    "depthwise": "forward/tests/ngchw_depthwise",
    "implicit_gemm backward data": "backward_data/tests/nhwgc_bf16",
    "implicit_gemm and two_stage backward weight": "backward_weight/tests/nhwgc_fp16",
    "stream_k": "backward_weight/tests/nhwgc_bf16_streamk",
    "8 bits": "forward/convscale/tests/ndhwgc_fp8_bf8",
}


def changed_record(record, field):
    value = getattr(record, field)
    if field in CHANGES:
        other = CHANGES[field]
    elif isinstance(value, bool):
        other = not value
    else:
        other = value * 2 + 1
    return msgspec.structs.replace(record, **{field: other})


def changeable(catalog, record):
    """The fields of a record that mean something for it."""
    for field in type(record).__struct_fields__:
        if field in UNSEEN or getattr(record, field) == CHANGES.get(field, ...):
            continue
        if field in ("dtype_b", "dtype_result") and getattr(record, field) is None:
            continue  # said of 8 bits alone
        stream_k = getattr(record, "streamk_enabled", False)
        if field.startswith("streamk") and (field == "streamk_enabled" or not stream_k):
            continue
        if field == "two_stage" and (stream_k or catalog.variant != "bwd_weight"):
            continue
        yield field


@pytest.mark.parametrize("name", LISTS.values(), ids=LISTS)
def test_every_change_of_every_generated_kernel_is_named(name, registry, builder_of):
    path = conf_root() / f"{name}.conf"
    conversion = read_list(path, registry)
    expected = builder_of(*path.read_text().splitlines(), name=path.name)
    killed = 0
    seen = set()
    for catalog in conversion.catalogs:
        for index, record in enumerate(catalog.records):
            fields = [*changeable(catalog, record)]
            # every field of the first instances, one each of the others: all of them are changed
            for field in fields if index < 4 else [fields[index % len(fields)]]:
                records = [*catalog.records]
                records[index] = changed_record(record, field)
                others = [other for other in conversion.catalogs if other is not catalog]
                mutated = [*others, _with(catalog, records)]
                found = _compare(conversion, mutated, expected, registry)
                assert found.missing or found.extra, (record, field)
                named = {
                    difference.field
                    for item in (*found.missing, *found.extra)
                    if item.nearest
                    for difference in item.nearest.differences
                }
                assert SEEN_AS[field] in named, (record, field, named)
                killed += 1
                seen.add(field)
    assert killed > 20
    assert seen >= {field for field in type(record).__struct_fields__ if field.startswith(("tile", "vector"))}


def _with(catalog, records):
    return Catalog(
        variant=catalog.variant,
        ndim=catalog.ndim,
        layout=catalog.layout,
        dtype=catalog.dtype,
        records=tuple(records),
    )


def _compare(conversion, catalogs, expected, registry):
    mutated = Conversion(
        path=conversion.path, converter="test", catalogs=tuple(catalogs), lines=conversion.lines
    )
    return compare(expected, catalog_side([mutated], registry), registry.strings)


@pytest.mark.parametrize("field", ["layout", "dtype"])
def test_layout_and_type_of_a_catalog_are_named(field, registry, builder_of):
    path = conf_root() / "forward" / "tests" / "nhwgc_fp16.conf"
    conversion = read_list(path, registry)
    (catalog,) = conversion.catalogs
    other = read_list(path.with_name("ndhwgc_bf16.conf"), registry).catalogs[0]
    changes = {"layout": other.layout, "ndim": other.ndim} if field == "layout" else {"dtype": other.dtype}
    mutant = Catalog(
        **{
            **{name: getattr(catalog, name) for name in ("variant", "ndim", "layout", "dtype", "records")},
            **changes,
        }
    )
    expected = builder_of(*path.read_text().splitlines(), name=path.name)
    found = _compare(conversion, [mutant], expected, registry)
    assert not found.matched
    named = {item.field for item in found.missing[0].nearest.differences}
    wanted = {"ndim", "layout_input", "layout_weight", "layout_output"}
    assert named == (wanted if field == "layout" else {"type_a", "type_b", "type_result"})


WINOGRAD = StringKind(
    id="winograd",
    title="Winograd kernel",
    name="WinogradKernel",
    direction="fwd",
    fields=(number("tile"), Field("fast", kinds.FLAG)),
)


COUNT = ParityFormat(id="count", label="a number", render=lambda report: str(len(report.comparisons)))


@dataclass(frozen=True)
class Family:
    """What :class:`Reader` reads lists with."""

    id: str


FAMILIES, FAMILY = Kind("family", Family, ""), Family("winograd")


class Reader:
    """Reads lines such as ``winograd 4``."""

    id = "winograd"
    label = "Winograd lists"
    family_type = Family
    families = None

    def use_families(self, families):
        self.families = families

    def recognises(self, request):
        return request.data.startswith(b"winograd")

    def read(self, request, strings, revision):
        texts = [f"WinogradKernel<{line.split()[1]},true>" for line in request.data.decode().splitlines()]
        made = [BuilderString(text=text, line=n, expected=text) for n, text in enumerate(texts, 1)]
        return BuilderList(path=request.path, strings=tuple(made))


class Plugin:
    def __init__(self):
        self.reader = Reader()

    @hookimpl
    def ckprof_register(self, registry):
        registry.add(WINOGRAD, self.reader, COUNT, FAMILIES, FAMILY)


def test_a_plugin_brings_strings_reader_and_format():
    plugin = Plugin()
    registry = registry_with(plugin, builtins=False)
    assert registry.strings.parse("WinogradKernel<4,1>").values == ("4", "1")
    assert registry.parity_formats.ids == ("count",)
    request = ConversionRequest(path=Path("x.txt"), data=b"winograd 4\nwinograd 8")
    side = builder_side([read_builder(request, registry, default_revision())], registry.strings)
    assert [entry.parsed.values for entry in side.entries] == [("4", "1"), ("8", "1")]
    assert plugin.reader.families == (FAMILY,)


def test_content_that_no_reader_knows_is_rejected():
    registry = registry_with(Plugin(), builtins=False)
    request = ConversionRequest(path=Path("x.txt"), data=b"hello")
    with pytest.raises(InputError, match=r"x\.txt: no instance list .*winograd: Winograd lists"):
        read_builder(request, registry, default_revision())
    with pytest.raises(InputError, match=r"x\.txt: the file is empty"):
        read_builder(ConversionRequest(path=Path("x.txt"), data=b" \n"), registry, default_revision())
