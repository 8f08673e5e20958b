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
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from ckprof.codegen import manifest, state
from ckprof.codegen.embedding import embedding_files
from ckprof.codegen.entry import RowMaker, kernel_entry, kernel_symbol
from ckprof.codegen.generated_files import write_if_changed
from ckprof.codegen.kernel_names import KernelNames
from ckprof.codegen.library_api import interface_of, table_source
from ckprof.errors import PluginError
from ckprof.plugin.protocols import NamedPipeline

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.codegen.embedding import Embedding
    from ckprof.model.instance import Instance
    from ckprof.plugin.protocols import KernelSource, Operation, Pipeline

#: Folder of the kernels below the root of a tree.
KERNELS = "kernels"
LIBRARY_SOURCE = "library.cpp"


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
    direction: Operation
    arch: str
    #: files that were written because they are new or have changed
    written: tuple[Path, ...] = field(default=(), compare=False)
    #: files of an earlier tree that were removed
    removed: tuple[Path, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRequest:
    """What a tree is to hold."""

    #: folder of the tree
    root: Path
    #: only for comments and the manifest
    library_name: str
    direction: Operation
    arch: str
    api_level: str
    #: valid instances of the direction; those with the same content key are one kernel, for which the first
    #: one stands
    instances: Sequence[Instance]
    #: pipeline id -> pipeline, at least for those of the instances
    pipelines: Mapping[str, Pipeline]
    #: content key -> name, of kernels whose names were decided before
    names: Mapping[str, str] = field(default_factory=dict)
    #: makes the tree ready for another build system; ``None`` leaves that out
    embedding: Embedding | None = None


class _Kernel(NamedTuple):
    """An instance under its final name."""

    key: str
    instance: Instance
    pipeline: Pipeline
    name: str


def generate_tree(request: TreeRequest) -> SourceTree:
    """Write the kernels of a library and remove those of an earlier tree that are gone.

    :raises PluginError: an instance belongs to no pipeline, or a pipeline writes two kernels of one name.
    """
    named = _named(request)
    digest = _digest(request, named)

    def tree(
        kernels: list[KernelFiles], written: Sequence[Path] = (), removed: Sequence[Path] = ()
    ) -> SourceTree:
        return SourceTree(
            root=request.root,
            library_name=request.library_name,
            kernels=tuple(kernels),
            manifest=request.root / manifest.FILE,
            direction=request.direction,
            arch=request.arch,
            written=tuple(written),
            removed=tuple(removed),
        )

    known = state.up_to_date(request.root, digest)
    if known is not None and len(known.kernels) == len(named):
        return tree(
            [
                _kernel_files(request.root, kernel, marker, weight)
                for kernel, (_, marker, weight) in zip(named, known.kernels, strict=True)
            ]
        )
    state.forget(request.root)
    with _collection_paused():
        kernels, texts = _texts(request, named)
    removed = manifest.remove_stale(request.root, texts)
    written = [
        request.root / name for name, text in texts.items() if write_if_changed(request.root / name, text)
    ]
    properties = [(kernel.name, kernel.device_marker, kernel.weight) for kernel in kernels]
    state.remember(request.root, digest, properties, texts)
    return tree(kernels, written, removed)


def _named(request: TreeRequest) -> list[_Kernel]:
    """Return the kernels of the tree, each content once, with their names."""
    distinct: dict[str, Instance] = {}
    for instance in request.instances:
        distinct.setdefault(instance.key, instance)
    names = KernelNames((request.names[key], one) for key, one in distinct.items() if key in request.names)
    kernels = []
    for key, instance in distinct.items():
        pipeline = request.pipelines.get(instance.pipeline)
        if pipeline is None:
            raise PluginError(f"no pipeline {instance.pipeline!r} for instance {instance.id}")
        name = request.names.get(key) or names.take(pipeline.kernel_name(instance), instance)
        kernels.append(_Kernel(key, instance, pipeline, name))
    return kernels


def _digest(request: TreeRequest, named: Sequence[_Kernel]) -> str:
    direction = request.direction
    parts = [
        *(request.library_name, direction.id, direction.host_args_type, request.arch, request.api_level),
    ]
    if request.embedding is not None:
        parts += [repr(request.embedding), str(request.root)]
    parts += [f"{kernel.key} {kernel.instance.id} {kernel.name}" for kernel in named]
    writers = {id(kernel.pipeline): kernel.pipeline for kernel in named}.values()
    return state.request_digest(
        parts, {type(writer).__module__.partition(".")[0] for writer in (direction, *writers)}
    )


def _texts(request: TreeRequest, named: Sequence[_Kernel]) -> tuple[list[KernelFiles], dict[str, str]]:
    """Return the kernels, and path below the root -> text of all files of the tree."""
    embedding = request.embedding
    kernels, records, texts = _kernels(request, named)
    further = (
        embedding_files(
            embedding, request.root, request.library_name, request.direction, request.arch, kernels
        )
        if embedding is not None
        else {}
    )
    texts.update(further)
    # The manifest comes last: until then the old one tells which files may be removed.
    texts[manifest.FILE] = manifest.render(
        library=request.library_name,
        direction=request.direction.id,
        arch=request.arch,
        api_level=request.api_level,
        kernels=records,
        files=tuple(further),
        chunk_size=embedding.chunk_size if embedding else None,
    )
    return kernels, texts


def _kernels(
    request: TreeRequest, named: Sequence[_Kernel]
) -> tuple[list[KernelFiles], list[dict[str, object]], dict[str, str]]:
    """Return the kernels, their records in the manifest, and path below the root -> text of their files."""
    records: list[dict[str, object]] = []
    kernels: list[KernelFiles] = []
    texts: dict[str, str] = {}
    writer = _Writer(request.arch, request.api_level)
    interface = interface_of(request.direction)
    maker = RowMaker()
    if interface is not None:
        maker = RowMaker(entry=interface.entry.read_text().rstrip(), row=interface.row)
    for kernel in named:
        source = writer.source_of(kernel)
        files = _kernel_files(request.root, kernel, _mangled(source.device_type), source.device_functions)
        kernels.append(files)
        paths = (f"{KERNELS}/{kernel.name}.hpp", f"{KERNELS}/{kernel.name}.cpp")
        records.append(_record(files, kernel, paths))
        texts[paths[0]] = source.header
        texts[paths[1]] = kernel_entry(
            key=kernel.key,
            name=kernel.name,
            header=files.header.name,
            launcher=source.launcher,
            host_args=source.host_args or request.direction.host_args_type,
            maker=maker,
        )
    return kernels, records, texts


class _Writer:
    """Has pipelines write kernels, and checks that no two share a C++ name."""

    def __init__(self, arch: str, api_level: str) -> None:
        self._arch = arch
        self._api_level = api_level
        self._takes_names: dict[int, bool] = {}
        self._owners: dict[str, _Kernel] = {}

    def source_of(self, kernel: _Kernel) -> KernelSource:
        """Return the source of a kernel.

        :raises PluginError: another kernel has its C++ names.
        """
        pipeline = kernel.pipeline
        takes_names = self._takes_names.get(id(pipeline))
        if takes_names is None:
            takes_names = self._takes_names[id(pipeline)] = isinstance(pipeline, NamedPipeline)
        if takes_names:
            source = cast("NamedPipeline", pipeline).render_named(
                kernel.instance, kernel.name, self._arch, self._api_level
            )
        else:
            source = pipeline.render(kernel.instance, self._arch, self._api_level)
        owner = self._owners.setdefault(source.name.lower(), kernel)
        if owner is not kernel:
            raise PluginError(
                f"pipeline {pipeline.id}: instances {owner.instance.id} and {kernel.instance.id} are both "
                f"written as kernel {source.name}; give the pipeline a method "
                "render_named(instance, name, arch, api_level), or say what distinguishes them in kernel_name"
            )
        if takes_names and source.name != kernel.name:
            raise PluginError(
                f"pipeline {pipeline.id}: render_named returned kernel {source.name!r}, "
                f"expected {kernel.name!r}"
            )
        return source


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
    write_if_changed(path, table_source(tree.library_name, tree.direction, tree.arch, kernels))
    return path


def _kernel_files(root: Path, kernel: _Kernel, device_marker: str, weight: int) -> KernelFiles:
    stem = f"{root}/{KERNELS}/{kernel.name}"
    return KernelFiles(
        instance=kernel.instance,
        name=kernel.name,
        header=Path(f"{stem}.hpp"),
        entry=Path(f"{stem}.cpp"),
        symbol=kernel_symbol(kernel.key),
        device_marker=device_marker,
        weight=weight,
    )


def _mangled(name: str) -> str:
    """Return a qualified C++ name as it stands within mangled names: each part behind its length."""
    return "".join(f"{len(part)}{part}" for part in name.split("::")) if name else ""


def _record(files: KernelFiles, kernel: _Kernel, paths: tuple[str, ...]) -> dict[str, object]:
    return {
        "name": kernel.name,
        "key": kernel.key,
        "symbol": files.symbol,
        "device_marker": files.device_marker,
        "id": kernel.instance.id,
        "instance": kernel.instance.identity(),
        "instance_string": kernel.pipeline.instance_string(kernel.instance),
        "files": paths,
    }
