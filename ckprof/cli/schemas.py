"""The versions of everything that ckprof writes and reads again: ``ckprof --version -v``, docs/schemas.md."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from ckprof.cli.commands import command_table

#: what files of a form call it, a few words where they have no name in them; module and constant with the
#: version; and who writes and reads it
_CORE: Final = (
    ("store", "ckprof.store.schema:SCHEMA_VERSION", "SQLite file of sweep, run --store and tune"),
    ("ckprof.attempts", "ckprof.store.shard:VERSION", "shards, results export: NDJSON"),
    ("ckprof.run", "ckprof.report.run_data:VERSION", "run --format json"),
    ("ckprof.batch", "ckprof.report.batch_report:VERSION", "run --tree --format json"),
    ("ckprof.compare", "ckprof.report.comparison_data:VERSION", "compare --format json"),
    ("ckprof-parity", "ckprof.report.parity_text:VERSION", "parity and diff --format json"),
    ("ckprof-parity-lock", "ckprof.parity.lockfile:VERSION", "parity --write"),
    ("ckprof.convert", "ckprof.cli.convert_report:VERSION", "convert --format json"),
    ("ckprof-instances", "ckprof.cli.instance_report:VERSION", "list instances --export-json"),
    ("ckprof-inspection", "ckprof.kernels.inspection:VERSION", "inspect --format json"),
    ("ckprof-call", "ckprof.measure.call:VERSION", "call"),
    ("ckprof.problems", "ckprof.problems.problem_file:VERSION", "problems --format json"),
    ("ckprof.problem_set", "ckprof.problems.problem_set:VERSION", "--problem-set FILE.json"),
    ("ckprof-architectures", "ckprof.model.architecture:VERSION", "architectures of ckprof.toml"),
    ("ckprof-source-tree", "ckprof.kernels.manifest:VERSION", "manifest of generated sources"),
    (
        "kernel library",
        "ckprof.measure.worker.abi:ABI_VERSION",
        "table of functions in built libraries, ckprof_abi.h",
    ),
)


def schemas() -> list[tuple[str, str, str]]:
    """Return the schemas of the core, and those that the tables of packages' commands name.

    :returns: name of each, the module and the constant that hold its version, and what it is of.
    """
    further = [
        (name, f"{command.owner}.{module}:VERSION", what.strip())
        for command in command_table()
        for name, (module, _, what) in ((name, text.partition(":")) for name, text in command.schemas.items())
    ]
    return [*_CORE, *further]


def version_of(place: str) -> int | str:
    """Return the version that this ckprof writes.

    :param place: module and constant.
    """
    module, _, constant = place.partition(":")
    version: int | str = getattr(import_module(module), constant)
    return version


def schema_lines() -> str:
    """Return a line per schema: name, version, what it is of."""
    found = schemas()
    width = max(len(name) for name, _, _ in found)
    return "\n".join(f"{name:<{width}}  {version_of(place)!s:>3}  {what}" for name, place, what in found)
