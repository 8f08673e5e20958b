"""The source tree of a kernel library.

.. code-block:: text

    kernels/<name>.hpp   the kernel, written by its pipeline
    kernels/<name>.cpp   its row in the library's table
    library.cpp          the table of the kernels that compiled
    manifest.json        what the tree holds and what each kernel is

and, if it is made ready for another build system, the files of :mod:`ckprof.kernels.embedding`.

A file is only written if its text changed, so that a build system sees what is really new.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import PluginError
from ckprof.kernels import manifest
from ckprof.kernels.c_interface import (
    kernel_entry,
    kernel_symbol,
    table_source,
)
from ckprof.kernels.embedding import embedding_files
from ckprof.kernels.keys import KernelFolder, MarkedSources
from ckprof.kernels.manifest import write_if_changed
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.embedding import Embedding
    from ckprof.model.instance import Instance
    from ckprof.plugin.protocols import KernelSource, Operation

#: Folder of the kernels below the root of a tree.
KERNELS = "kernels"
LIBRARY_SOURCE = "library.cpp"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFiles(MarkedSources):
    """One kernel of a source tree."""

    instance: Instance

    def fields(self) -> Mapping[str, object]:
        """Return the fields of the instance."""
        return self.instance.fields()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree(KernelFolder):
    """A library's sources on disk."""

    kernels: tuple[KernelFiles, ...]
    manifest: Path
    direction: Operation
    arch: str
    #: files that were written because they are new or have changed
    written: tuple[Path, ...] = field(default=(), compare=False)
    #: files of an earlier tree that were removed
    removed: tuple[Path, ...] = field(default=(), compare=False)

    @property
    def shared_sources(self) -> tuple[Path, ...]:
        """What is compiled once and linked into the library beside its kernels and its table."""
        return self.direction.interface.linked

    def write_library_source(self, symbols: Sequence[str]) -> Path:
        """Write the table of a library that is linked from some of the tree's kernels, in the tree's order.

        :param symbols: symbols of the kernels that compiled.
        :returns: the source to compile and link together with these kernels.
        :raises ValueError: a symbol does not belong to the tree.
        """
        wanted = set(symbols)
        unknown = wanted.difference(kernel.symbol for kernel in self.kernels)
        if unknown:
            raise ValueError(f"not in the source tree: {', '.join(sorted(unknown))}")
        path = self.root / LIBRARY_SOURCE
        kernels = [kernel for kernel in self.kernels if kernel.symbol in wanted]
        write_if_changed(path, table_source(self.library_name, self.direction, self.arch, kernels))
        return path


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
    #: id of the target that the tree is built for
    target: str = ""
    #: instances of the direction; those with the same content key are one kernel, for which the first stands
    candidates: Sequence[Candidate]
    #: makes the tree ready for another build system; ``None`` leaves that out
    embedding: Embedding | None = None


def generate_tree(request: TreeRequest) -> SourceTree:
    """Write the kernels of a library and remove those of an earlier tree that are gone.

    :raises PluginError: a pipeline writes two kernels of one name.
    """
    distinct: dict[str, Candidate] = {}
    for candidate in request.candidates:
        distinct.setdefault(candidate.instance.key, candidate)
    candidates = tuple(distinct.values())
    digest = _digest(request, candidates)

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

    state = manifest.up_to_date(request.root, digest)
    if state is not None and len(state.kernels) == len(candidates):
        return tree(
            [
                _kernel_files(request.root, candidate, marker, weight)
                for candidate, (_, marker, weight) in zip(candidates, state.kernels, strict=True)
            ]
        )
    manifest.forget(request.root)
    with _collection_paused():
        kernels, texts = _texts(request, candidates)
    removed = manifest.remove_stale(request.root, texts)
    written = [
        request.root / name for name, text in texts.items() if write_if_changed(request.root / name, text)
    ]
    properties = [(kernel.name, kernel.device_marker, kernel.weight) for kernel in kernels]
    manifest.remember(request.root, digest, properties, texts)
    return tree(kernels, written, removed)


def _digest(request: TreeRequest, candidates: Sequence[Candidate]) -> str:
    direction = request.direction
    parts = [request.library_name, direction.id, direction.host_args_type, request.arch, request.api_level]
    if request.embedding is not None:
        parts += [repr(request.embedding), str(request.root)]
    parts += [
        f"{candidate.instance.key} {candidate.instance.id} {candidate.name}" for candidate in candidates
    ]
    writers = {id(candidate.pipeline): candidate.pipeline for candidate in candidates}.values()
    return manifest.request_digest(
        parts, {type(writer).__module__.partition(".")[0] for writer in (direction, *writers)}
    )


def _texts(request: TreeRequest, candidates: Sequence[Candidate]) -> tuple[list[KernelFiles], dict[str, str]]:
    """Return the kernels, and path below the root -> text of all files of the tree."""
    records: list[dict[str, object]] = []
    kernels: list[KernelFiles] = []
    texts: dict[str, str] = {}
    writer = _Writer(request.arch, request.api_level)
    interface = request.direction.interface
    for candidate in candidates:
        source = writer.source_of(candidate)
        files = _kernel_files(request.root, candidate, _mangled(source.device_type), source.device_functions)
        kernels.append(files)
        paths = (f"{KERNELS}/{files.name}.hpp", f"{KERNELS}/{files.name}.cpp")
        records.append(_record(files, candidate, paths))
        texts[paths[0]] = source.header
        texts[paths[1]] = kernel_entry(
            key=files.key,
            name=files.name,
            header=files.header.name,
            launcher=source.launcher,
            host_args=source.host_args or request.direction.host_args_type,
            interface=interface,
        )
    further = embedding_files(request, kernels)
    texts.update(further)
    # The manifest comes last: until then the old one tells which files may be removed.
    texts[manifest.FILE] = manifest.render(request, records, tuple(further))
    return kernels, texts


class _Writer:
    """Has pipelines write kernels, and checks that no two share a C++ name."""

    def __init__(self, arch: str, api_level: str) -> None:
        self._arch = arch
        self._api_level = api_level
        self._takes_names: dict[int, bool] = {}
        self._owners: dict[str, Candidate] = {}

    def source_of(self, kernel: Candidate) -> KernelSource:
        """Return the source of a kernel.

        :raises PluginError: another kernel has its C++ names.
        """
        pipeline = kernel.pipeline
        takes_names = self._takes_names.get(id(pipeline))
        if takes_names is None:
            takes_names = self._takes_names[id(pipeline)] = offers(pipeline, Pipeline.render_named)
        if takes_names:
            source = pipeline.render_named(kernel.instance, kernel.name, self._arch, self._api_level)
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


def _kernel_files(root: Path, kernel: Candidate, device_marker: str, weight: int) -> KernelFiles:
    stem = f"{root}/{KERNELS}/{kernel.name}"
    return KernelFiles(
        key=kernel.instance.key,
        instance=kernel.instance,
        name=kernel.name,
        header=Path(f"{stem}.hpp"),
        entry=Path(f"{stem}.cpp"),
        symbol=kernel_symbol(kernel.instance.key),
        device_marker=device_marker,
        weight=weight,
    )


def _mangled(name: str) -> str:
    """Return a qualified C++ name as it stands within mangled names: each part after its length."""
    return "".join(f"{len(part)}{part}" for part in name.split("::")) if name else ""


def _record(files: KernelFiles, kernel: Candidate, paths: tuple[str, ...]) -> dict[str, object]:
    return {
        "name": kernel.name,
        "key": files.key,
        "symbol": files.symbol,
        "device_marker": files.device_marker,
        "id": kernel.instance.id,
        "instance": kernel.instance.identity(),
        "instance_string": kernel.instance_string,
        "files": paths,
    }
