"""The source tree of a kernel library.

.. code-block:: text

    kernels/<name>.hpp   the kernel, written by its pipeline
    kernels/<name>.cpp   its row in the library's table
    library.cpp          the table of the kernels that compiled
    manifest.json        what the tree holds and what each kernel is

and, if it is made ready for another build system, the files of :mod:`ckprof.codegen.embedding`.

A file is only written if its text changed, so that a build system sees what is really new.
"""

from __future__ import annotations

import gc
import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.codegen import manifest, state
from ckprof.codegen.embedding import embedding_files
from ckprof.codegen.entry import kernel_entry, kernel_symbol
from ckprof.codegen.generated_files import write_if_changed
from ckprof.codegen.library_api import conv_library_source
from ckprof.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.codegen.embedding import Embedding
    from ckprof.model.instance import Instance
    from ckprof.plugin.protocols import Direction, KernelSource, Pipeline

#: Folder of the kernels below the root of a tree.
KERNELS = "kernels"
LIBRARY_SOURCE = "library.cpp"

#: Digits of the content key that are appended to a name that is already taken.
_KEY_DIGITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFiles:
    """One kernel of a source tree."""

    instance: Instance
    #: kernel name, unique in the tree: the stem of both files
    name: str
    header: Path
    #: the translation unit to compile
    entry: Path
    #: C symbol of the kernel's table row
    symbol: str
    #: what the linker's names of its device functions contain; empty if they do not tell whose they are
    device_marker: str = ""
    #: what its compilation costs, in device functions
    weight: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree:
    """A library's sources on disk."""

    root: Path
    library_name: str
    #: one per distinct content key, in the order of the instances
    kernels: tuple[KernelFiles, ...]
    manifest: Path
    direction: Direction
    arch: str
    #: files that were written because they are new or have changed
    written: tuple[Path, ...] = field(default=(), compare=False)
    #: files of an earlier tree that were removed
    removed: tuple[Path, ...] = field(default=(), compare=False)


def generate_tree(
    root: Path,
    library_name: str,
    instances: Sequence[Instance],
    pipelines: Mapping[str, Pipeline],
    direction: Direction,
    arch: str,
    api_level: str,
    embedding: Embedding | None = None,
) -> SourceTree:
    """Write the kernels of a library below ``root`` and remove those of an earlier tree that are gone.

    Instances with the same content key are one kernel; the first one stands for all of them.

    :param library_name: only for comments and the manifest.
    :param instances: valid instances of ``direction``; see :meth:`Pipeline.unmet_requirements`.
    :param pipelines: pipeline id -> pipeline, at least for those of the instances.
    :param embedding: makes the tree ready for another build system; ``None`` leaves that out.
    :raises PluginError: an instance belongs to no pipeline.
    """
    distinct = _distinct(instances)
    owners = {instance.pipeline: pipelines.get(instance.pipeline) for instance in distinct.values()}
    for instance in distinct.values():
        if owners[instance.pipeline] is None:
            raise PluginError(f"no pipeline {instance.pipeline!r} for instance {instance.id}")
    request = [library_name, direction.id, direction.host_args_type, arch, api_level]
    if embedding is not None:
        request += [repr(embedding), str(root)]
    request += [f"{key} {instance.id}" for key, instance in distinct.items()]
    digest = state.request_digest(
        request, {type(owner).__module__.partition(".")[0] for owner in (direction, *owners.values())}
    )

    def tree(
        kernels: list[KernelFiles], written: Sequence[Path] = (), removed: Sequence[Path] = ()
    ) -> SourceTree:
        return SourceTree(
            root=root,
            library_name=library_name,
            kernels=tuple(kernels),
            manifest=root / manifest.FILE,
            direction=direction,
            arch=arch,
            written=tuple(written),
            removed=tuple(removed),
        )

    known = state.up_to_date(root, digest)
    if known is not None and len(known.kernels) == len(distinct):
        kernels = [
            _kernel_files(root, instance, key, name, marker, weight)
            for (key, instance), (name, marker, weight) in zip(distinct.items(), known.kernels, strict=True)
        ]
        return tree(kernels)
    state.forget(root)
    with _collection_paused():
        kernels, records, texts = _kernels(root, distinct, pipelines, direction, arch, api_level)
        if embedding is not None:
            further = embedding_files(embedding, root, library_name, direction, arch, kernels)
        else:
            further = {}
    texts.update(further)
    # The manifest comes last: until then the old one tells which files may be removed.
    texts[manifest.FILE] = manifest.render(
        library=library_name,
        direction=direction.id,
        arch=arch,
        api_level=api_level,
        kernels=records,
        files=tuple(further),
        chunk_size=embedding.chunk_size if embedding else None,
    )
    removed = manifest.remove_stale(root, texts)
    written = [root / name for name, text in texts.items() if write_if_changed(root / name, text)]
    properties = [(kernel.name, kernel.device_marker, kernel.weight) for kernel in kernels]
    state.remember(root, digest, properties, texts)
    return tree(kernels, written, removed)


def _kernels(
    root: Path,
    distinct: Mapping[str, Instance],
    pipelines: Mapping[str, Pipeline],
    direction: Direction,
    arch: str,
    api_level: str,
) -> tuple[list[KernelFiles], list[dict[str, object]], dict[str, str]]:
    """Return the kernels, their records in the manifest, and path below ``root`` -> text of their files."""
    records: list[dict[str, object]] = []
    kernels: list[KernelFiles] = []
    texts: dict[str, str] = {}
    taken: set[str] = set()
    for key, instance in distinct.items():
        pipeline = pipelines[instance.pipeline]
        source = _with_free_name(pipeline.render(instance, arch, api_level), key, taken)
        marker = _mangled(source.device_type)
        kernel = _kernel_files(root, instance, key, source.name, marker, source.device_functions)
        kernels.append(kernel)
        files = (f"{KERNELS}/{source.name}.hpp", f"{KERNELS}/{source.name}.cpp")
        records.append(_record(kernel, key, pipeline.instance_string(instance), files))
        texts[files[0]] = source.header
        texts[files[1]] = kernel_entry(
            key=key,
            name=source.name,
            header=kernel.header.name,
            launcher=source.launcher,
            host_args=source.host_args or direction.host_args_type,
        )
    return kernels, records, texts


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Look for no cycles: among thousands of texts there are none, and looking takes a fifth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def write_library_source(tree: SourceTree, symbols: Sequence[str]) -> Path:
    """Write the table of a library that is linked from some of a tree's kernels.

    The table has the order of the tree, whatever the order of ``symbols``.

    :param symbols: symbols of the kernels that compiled.
    :returns: the source to compile and link together with these kernels.
    :raises ValueError: a symbol does not belong to the tree.
    """
    wanted = set(symbols)
    unknown = wanted.difference(kernel.symbol for kernel in tree.kernels)
    if unknown:
        raise ValueError(f"not in the source tree: {', '.join(sorted(unknown))}")
    path = tree.root / LIBRARY_SOURCE
    kernels = [kernel for kernel in tree.kernels if kernel.symbol in wanted]
    write_if_changed(path, conv_library_source(tree.library_name, tree.direction, tree.arch, kernels))
    return path


def _distinct(instances: Sequence[Instance]) -> dict[str, Instance]:
    distinct: dict[str, Instance] = {}
    for instance in instances:
        distinct.setdefault(instance.key, instance)
    return distinct


def _with_free_name(source: KernelSource, key: str, taken: set[str]) -> KernelSource:
    """Return the source under a name that no other kernel of the tree has.

    The C++ names follow: two kernels of one library that share a type name would be merged by the linker.
    File systems may not tell cases apart, so neither does this.
    """
    if source.name.lower() not in taken:
        taken.add(source.name.lower())
        return source
    name = f"{source.name}_{key[:_KEY_DIGITS]}"
    taken.add(name.lower())
    identifier = re.compile(re.escape(source.name))
    lines = [
        line if line.startswith("#include") else identifier.sub(name, line)
        for line in source.header.splitlines(keepends=True)
    ]
    return replace(
        source,
        name=name,
        header="".join(lines),
        launcher=identifier.sub(name, source.launcher),
        device_type=identifier.sub(name, source.device_type),
    )


def _kernel_files(
    root: Path, instance: Instance, key: str, name: str, device_marker: str, weight: int
) -> KernelFiles:
    stem = f"{root}/{KERNELS}/{name}"
    return KernelFiles(
        instance=instance,
        name=name,
        header=Path(f"{stem}.hpp"),
        entry=Path(f"{stem}.cpp"),
        symbol=kernel_symbol(key),
        device_marker=device_marker,
        weight=weight,
    )


def _mangled(name: str) -> str:
    """Return a qualified C++ name as it stands within mangled names: each part behind its length."""
    return "".join(f"{len(part)}{part}" for part in name.split("::")) if name else ""


def _record(kernel: KernelFiles, key: str, instance_string: str, files: tuple[str, ...]) -> dict[str, object]:
    return {
        "name": kernel.name,
        "key": key,
        "symbol": kernel.symbol,
        "device_marker": kernel.device_marker,
        "id": kernel.instance.id,
        "instance": kernel.instance.identity(),
        "instance_string": instance_string,
        "files": files,
    }
