"""The versions of everything that ckprof writes and reads again: ``ckprof --version -v``, docs/schemas.md."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Final


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


SCHEMAS: Final = (
    Schema(
        name="store",
        what="SQLite file of sweep, run --store and tune",
        module="ckprof.store.schema",
        constant="SCHEMA_VERSION",
    ),
    Schema(name="ckprof.attempts", what="shards, results export: NDJSON", module="ckprof.store.lines"),
    Schema(name="ckprof.run", what="run --format json", module="ckprof.report.run_data"),
    Schema(name="ckprof.tour", what="run --tree --format json", module="ckprof.report.batch_report"),
    Schema(
        name="ckprof.compare",
        what="compare --format json",
        module="ckprof.report.comparison.data_formats",
    ),
    Schema(name="ckprof-parity", what="parity and diff --format json", module="ckprof.report.parity_text"),
    Schema(name="ckprof-parity-lock", what="parity --write", module="ckprof.parity.lockfile"),
    Schema(name="ckprof.convert", what="convert --format json", module="ckprof.cli.convert_report"),
    Schema(name="ckprof.audit", what="audit --format json", module="ckprof_plugins.consumers.cmd_audit"),
    Schema(
        name="ckprof.upgrade", what="upgrade --format json", module="ckprof_plugins.consumers.cmd_upgrade"
    ),
    Schema(name="ckprof.extract", what="extract.json", module="ckprof_plugins.extract.lists"),
    Schema(name="ckprof-instances", what="list instances --export-json", module="ckprof.cli.instance_report"),
    Schema(name="ckprof-inspection", what="inspect --format json", module="ckprof.kernels.inspection"),
    Schema(
        name="ckprof-prediction", what="predict --format json", module="ckprof_plugins.tuning.predicted_times"
    ),
    Schema(
        name="ckprof-profile", what="inspect --page FILE.json", module="ckprof_plugins.pages.profile_view"
    ),
    Schema(name="ckprof-call", what="call", module="ckprof.measure.call"),
    Schema(name="ckprof.problems", what="problems --format json", module="ckprof.problems.list_file"),
    Schema(name="ckprof.problem_set", what="--problem-set FILE.json", module="ckprof.problems.problem_set"),
    Schema(
        name="ckprof-time-model",
        what="train, tune and select --model",
        module="ckprof_plugins.tuning.time_model.model_file",
    ),
    Schema(
        name="ckprof-architectures", what="architectures of ckprof.toml", module="ckprof.model.architecture"
    ),
    Schema(
        name="ckprof-source-tree",
        what="manifest of generated sources",
        module="ckprof.kernels.source.manifest",
    ),
    Schema(
        name="kernel library",
        what="table of functions in built libraries, ckprof_abi.h",
        module="ckprof.measure.worker.abi",
        constant="ABI_VERSION",
    ),
)


def schema_lines() -> str:
    """Return a line per schema: name, version, what it is of."""
    width = max(len(schema.name) for schema in SCHEMAS)
    return "\n".join(f"{schema.name:<{width}}  {schema.version!s:>3}  {schema.what}" for schema in SCHEMAS)
