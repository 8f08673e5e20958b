"""The versions of everything that ckprof writes and reads again: ``ckprof --version -v``, docs/schemas.md."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Final

from ckprof.cli.commands import command_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """One form of files or results."""

    #: what its files call it; a few words where they have no name in them
    name: str
    #: who writes and reads it
    what: str
    #: module and constant that hold the version
    module: str
    constant: str = "VERSION"

    @property
    def version(self) -> int | str:
        """The version that this ckprof writes."""
        version: int | str = getattr(import_module(self.module), self.constant)
        return version


_CORE: Final = (
    Schema(
        name="store",
        what="SQLite file of sweep, run --store and tune",
        module="ckprof.store.schema",
        constant="SCHEMA_VERSION",
    ),
    Schema(name="ckprof.attempts", what="shards, results export: NDJSON", module="ckprof.store.shard"),
    Schema(name="ckprof.run", what="run --format json", module="ckprof.report.run_data"),
    Schema(name="ckprof.batch", what="run --tree --format json", module="ckprof.report.batch_report"),
    Schema(
        name="ckprof.compare",
        what="compare --format json",
        module="ckprof.report.comparison_data",
    ),
    Schema(name="ckprof-parity", what="parity and diff --format json", module="ckprof.report.parity_text"),
    Schema(name="ckprof-parity-lock", what="parity --write", module="ckprof.parity.lockfile"),
    Schema(name="ckprof.convert", what="convert --format json", module="ckprof.cli.convert_report"),
    Schema(name="ckprof-instances", what="list instances --export-json", module="ckprof.cli.instance_report"),
    Schema(name="ckprof-inspection", what="inspect --format json", module="ckprof.kernels.inspection"),
    Schema(name="ckprof-call", what="call", module="ckprof.measure.call"),
    Schema(name="ckprof.problems", what="problems --format json", module="ckprof.problems.problem_file"),
    Schema(name="ckprof.problem_set", what="--problem-set FILE.json", module="ckprof.problems.problem_set"),
    Schema(
        name="ckprof-architectures", what="architectures of ckprof.toml", module="ckprof.model.architecture"
    ),
    Schema(
        name="ckprof-source-tree",
        what="manifest of generated sources",
        module="ckprof.kernels.manifest",
    ),
    Schema(
        name="kernel library",
        what="table of functions in built libraries, ckprof_abi.h",
        module="ckprof.measure.worker.abi",
        constant="ABI_VERSION",
    ),
)


def schemas() -> tuple[Schema, ...]:
    """Return the schemas of the core, and those that the tables of packages' commands name."""
    further = (
        Schema(name=name, what=what.strip(), module=f"{command.owner}.{module}")
        for command in command_table()
        for name, (module, _, what) in ((name, text.partition(":")) for name, text in command.schemas.items())
    )
    return (*_CORE, *further)


def schema_lines() -> str:
    """Return a line per schema: name, version, what it is of."""
    found = schemas()
    width = max(len(schema.name) for schema in found)
    return "\n".join(f"{schema.name:<{width}}  {schema.version!s:>3}  {schema.what}" for schema in found)
