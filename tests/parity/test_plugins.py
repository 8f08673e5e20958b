"""Strings, readers and formats of plugins work like those that ship with ckprof."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from ckprof import hookimpl
from ckprof.errors import InputError
from ckprof.model.conversion import ConversionRequest
from ckprof.model.parity import BuilderList, BuilderString
from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import Field, number
from ckprof.model.strings.kind import StringKind, default_revision
from ckprof.parity.side import builder_side, read_builder
from ckprof.plugin.additions import Kind
from ckprof.plugin.protocols import ParityFormat
from ckprof.testing import registry_with

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
