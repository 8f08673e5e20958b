"""Faults of the kinds that are reported of real kernels, to be planted into copies of the host model and the
pipelines: what verification and hunts for wrong kernels are measured with.

``tests/data/kernel_faults.toml`` has them. :func:`planted` makes a copy of the packages with one of them;
``python -m ckprof`` runs the copy with the environment that it returns.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]


class Edit(msgspec.Struct, frozen=True):
    """Text of a file below ``plugins``, and what stands in its place."""

    file: str
    old: str
    new: str


class Fault(msgspec.Struct, frozen=True):
    """One fault."""

    name: str
    #: kind of the reported faults: groups, batch cut, window, sub-GEMM, remainder, loop, split, clearing,
    #: workspace, stale values, operands, strides of matrices, rank, degenerate
    kind: str
    #: name of the list that it is looked for in
    list: str
    edits: tuple[Edit, ...]


class _File(msgspec.Struct, frozen=True):
    #: name -> direction, list, instances that are enough, and a problem where the usual one is for others
    lists: dict[str, tuple[str, ...]]
    faults: tuple[Fault, ...]


_KNOWN = msgspec.toml.decode((ROOT / "tests" / "data" / "kernel_faults.toml").read_text(), type=_File)
LISTS, FAULTS = _KNOWN.lists, _KNOWN.faults


def planted(fault, folder):
    """Make a copy of the packages with a fault; return the environment that runs it.

    :param fault: ``None``: a copy without any.
    :param folder: is made.
    :raises ValueError: an edit does not fit the file.
    """
    folder.mkdir(parents=True)
    (folder / "ckprof").symlink_to(ROOT / "ckprof")
    (folder / "ckprof_converters").symlink_to(ROOT / "converters")
    (folder / "ckprof_conf").symlink_to(ROOT / "conf")
    plugins = folder / "ckprof_plugins"
    shutil.copytree(ROOT / "plugins", plugins, ignore=shutil.ignore_patterns("tests", "__pycache__", "docs"))
    for edit in fault.edits if fault is not None else ():
        path = plugins / edit.file
        text = path.read_text(encoding="utf-8")
        if text.count(edit.old) != 1:
            raise ValueError(f"{edit.file} has {text.count(edit.old)} times {edit.old!r}, expected one")
        path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
