"""Objects of every kind that work, and for some member of each a command that calls it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ckprof.model.catalog import CatalogRecord
from ckprof.model.conversion import Conversion
from ckprof.model.parity import BuilderList
from ckprof.model.strings.argument_kinds import POSITIVE
from ckprof.model.strings.fields import Field
from ckprof.model.strings.kind import Spelling, StringKind
from ckprof.plugin.hookspecs import Command
from ckprof.plugin.protocols import (
    CatalogVariant,
    ComparisonFormat,
    Operation,
    ParityFormat,
    ReportFormat,
    StoreFormat,
)
from ckprof.plugin.protocols.converters import ExportResult
from ckprof_plugins.directions._convolution.layout import LAYOUTS
from ckprof_plugins.directions.fwd import Forward
from tests.measured import Made, attempts

from .stubs import StubConverter, StubOperation, StubPipeline, StubRuleSet

#: what the plugin that commands load registers
REGISTERED = []

LIST = "forward/tests/nhwgc_fp16.conf"


CATALOG = """
{"variant": "mine", "ndim_spatial": 2, "layout": "nhwgc", "datatype": "fp16",
 "instances": [{"id": 0, "tile": 1}]}
"""
FILES = {"mine.txt": "mine 1\n", "mine.json": CATALOG, "tree/forward/a_nhwgc_fp16.conf": "nothing\n"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A member of a kind of objects, and a command that calls it.

    The command's folder has the files of :data:`FILES` and a store ``a.db``.
    """

    #: name of the kind
    kind: str
    #: makes an object that works
    make: Callable[[], Any]
    member: str
    command: tuple[str, ...]
    #: exit code with an object that works
    code: int = 0
    #: what the member belongs to, where that is not the object which is registered
    protocol: type | None = None
    #: makes the object that is registered of the one that has the member
    within: Callable[[Any], Any] | None = None

    def registered(self, item):
        """What a plugin registers."""
        return item if self.within is None else self.within(item)


class MyDirection(Forward):
    id, label, aliases, miopen_flag, dispatcher_form = "mine", "mine", (), 64, None


class MyOperation(StubOperation):
    id = "mine"
    line_words = ("mine",)


class MyConverter(StubConverter):
    id = "mine"

    def recognises(self, request):
        return request.data.startswith(b"mine")

    def convert(self, request):
        return Conversion(path=request.path, converter="mine", catalogs=(), lines=0)


class MyReader:
    id, label = "mine", ""

    def recognises(self, request):
        return request.data.startswith(b"mine")

    def read(self, request, strings, revision):
        return BuilderList(path=request.path, strings=())


class MyTarget:
    id, label, embedded, default_arch = "mine", "mine", False, "gfx942"

    def findings(self):
        return []

    def recipe(self, request): ...


class MyDevice:
    id, label, target, archs = "mine", "mine", "cpu", ("gfx942",)

    def variables(self, device):
        return {}

    def recipe(self, target, request): ...

    def findings(self):
        return []


class MyBaseline:
    id, label, entry = "mine", "mine", "nowhere:engine"

    def missing(self):
        return "mine is not installed"


class MyObserver:
    id = "mine"

    def observe(self, target, device):
        return None


class MySpelling:
    def recognises(self, text):
        return text.startswith("Mine")

    def read(self, text):
        return {"tile": "1"}

    def write(self, values):
        return "Mine"

    def generated(self, request): ...


class MyRecord(CatalogRecord, forbid_unknown_fields=True):
    tile: int


def command():
    return Command(name="mine", add_arguments=lambda parser, session: None, run=lambda arguments, session: 0)


def pipeline():
    return StubPipeline("mine")


def rule_set():
    return StubRuleSet("mine")


def string_kind(spelling):
    return StringKind(
        id="mine", title="mine", name="Mine", fields=(Field("tile", POSITIVE),), spelling=spelling
    )


def variant():
    return CatalogVariant(
        name="mine",
        direction="fwd",
        record_type=MyRecord,
        pipeline="mine",
        layouts=LAYOUTS,
        native=lambda catalog: ["mine"],
    )


def run_format():
    return ReportFormat(id="mine", label="mine", render=str, render_batch=lambda results: "mine")


def simple_format(kind, **further):
    return lambda: kind(id="mine", label="mine", render=lambda content: "mine", **further)


def write(store, query, path):
    path.write_text("mine")
    return ExportResult(rows=1)


def store_format():
    return StoreFormat(
        id="mine",
        label="mine",
        suffixes=(".mine",),
        read=lambda path, hints: attempts(Made(rounds=1)),
        write=write,
        recognises=lambda head: head.startswith(b"mine"),
    )


IMPORT = ("results", "import", "mine.txt", "--store", "new.db")
RUN = ("run", "fwd", "--conf", LIST, "--instance", "0")
PLUGIN = "from ckprof import hookimpl\nfrom tests.plugin import hostile\n"

CASES = {
    "direction": Case(kind="operation", make=MyDirection, member="label", command=("list", "directions")),
    "operation": Case(
        kind="operation",
        make=MyOperation,
        protocol=Operation,
        member="parse_problem",
        command=("problems", "convert", "--problem", "mine 3"),
        code=4,
    ),
    "pipeline": Case(kind="pipeline", make=pipeline, member="label", command=("list", "pipelines")),
    "target": Case(kind="target", make=MyTarget, member="findings", command=("doctor",)),
    "device": Case(kind="device", make=MyDevice, member="findings", command=("doctor",)),
    "baseline": Case(
        kind="baseline", make=MyBaseline, member="missing", command=(*RUN, "--baseline", "mine"), code=5
    ),
    "rule set": Case(
        kind="rule set",
        make=rule_set,
        member="enumerate",
        command=("list", "instances", "--rule-set", "mine", "--arch", "gfx942"),
        code=1,
    ),
    "string kind": Case(
        kind="kind of instance string",
        make=MySpelling,
        protocol=Spelling,
        within=string_kind,
        member="recognises",
        command=("parity", "fwd", "--conf", LIST, "--generated", "catalog"),
    ),
    "format": Case(
        kind="format",
        make=run_format,
        member="render_batch",
        command=("run", "--tree", "tree", "--format", "mine"),
        code=3,
    ),
    "parity format": Case(
        kind="parity format",
        make=simple_format(ParityFormat),
        member="render",
        command=("parity", "fwd", "--conf", LIST, "--generated", "catalog", "--format", "mine"),
    ),
    "comparison format": Case(
        kind="comparison format",
        make=simple_format(ComparisonFormat),
        member="render",
        command=("compare", "a.db", "a.db", "--format", "mine"),
    ),
    "command": Case(kind="command", make=command, member="run", command=("mine",)),
    "store format that reads": Case(kind="store format", make=store_format, member="read", command=IMPORT),
    "store format that recognises": Case(
        kind="store format", make=store_format, member="recognises", command=IMPORT
    ),
    "store format that writes": Case(
        kind="store format",
        make=store_format,
        member="write",
        command=("results", "export", "a.db", "-o", "new.mine"),
    ),
    "catalog variant": Case(
        kind="catalog variant",
        make=variant,
        member="native",
        command=("convert", "mine.json", "--to", "native"),
    ),
    "converter that recognises": Case(
        kind="converter",
        make=MyConverter,
        member="recognises",
        command=("list", "instances", "--conf", "mine.txt"),
        code=3,
    ),
    "converter that converts": Case(
        kind="converter",
        make=MyConverter,
        member="convert",
        command=("list", "instances", "--conf", "mine.txt"),
        code=3,
    ),
    "builder reader": Case(
        kind="builder reader",
        make=MyReader,
        member="recognises",
        command=("diff", "mine.txt", "mine.txt"),
        code=3,
    ),
}
