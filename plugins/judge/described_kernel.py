"""A code object with a description of its launch, or a HIP source, as a kernel of a library for a device.

The description is JSON: what :class:`~ckprof_plugins.code_objects.description.LaunchDescription` says, with
the file of the code object beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from ckprof.errors import InputError, UsageError
from ckprof.kernels.c_interface import string_literal
from ckprof.kernels.candidates import KernelNames
from ckprof.kernels.choose import Selection
from ckprof.kernels.jinja import render
from ckprof.kernels.keys import abi_dir, digest_parts
from ckprof.kernels.requests import BuildOptions
from ckprof.model.instance import Instance
from ckprof.plugin.protocols import KernelSource
from ckprof.version import __version__
from ckprof_plugins.code_objects.description import (
    Cleared,
    Condition,
    LaunchDescription,
    Pointer,
    Scalar,
    Struct,
)
from ckprof_plugins.code_objects.family import CodeObjectFamily, layouts_of
from ckprof_plugins.code_objects.sizes import sizes_of
from ckprof_plugins.judge.candidate import C_ENTRY, INCLUDE_DIR, OpenRequest, digest_of, open_candidate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.recipe import BuildRecipe
    from ckprof.profiler import Profiler
    from ckprof_plugins.judge.candidate import Candidate
    from ckprof_plugins.judge.operands import Task
    from ckprof_plugins.judge.verdicts import JudgeOptions

#: end of the name of a description
SUFFIX: Final = ".json"
_TARGET: Final = "hip"
_ARCH: Final = re.compile(rb"amdgcn-amd-amdhsa--(gfx[0-9a-f]+)")
_NO_NAME: Final = re.compile(r"\W+")

Formula = str | int


class _Argument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A parameter of the kernel, or a member of one: a pointer, a number, or a structure."""

    #: role of a tensor, and bytes from its begin on
    pointer: str = ""
    offset: Formula = 0
    #: type of a number, and what it is
    scalar: str = ""
    value: Formula = 0
    #: bytes of a structure, and its members by their offsets
    struct: int = 0
    members: dict[int, _Argument] = {}

    def plain(self) -> Pointer | Scalar | Struct:
        """Return it as descriptions have it.

        :raises ValueError: it is none of these, or several.
        """
        if bool(self.pointer) + bool(self.scalar) + bool(self.struct) != 1:
            raise ValueError("an argument is one of pointer, scalar and struct")
        if self.pointer:
            return Pointer(self.pointer, self.offset)
        if self.scalar:
            return Scalar(self.scalar, self.value)
        members = []
        for at, one in sorted(self.members.items()):
            member = one.plain()
            if isinstance(member, Struct):
                raise ValueError("a member of a structure is a pointer or a scalar")
            members.append((at, member))
        return Struct(self.struct, tuple(members))


class _Launch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that describes a launch."""

    #: file of the code object, beside this one
    code_object: str
    kernel: str
    arguments: tuple[_Argument, ...]
    grid: tuple[Formula, ...]
    block: tuple[Formula, ...]
    dynamic_lds: Formula = 0
    workspace: Formula = 0
    conditions: tuple[Condition, ...] = ()
    cleared: tuple[Cleared, ...] = ()

    def description(self) -> LaunchDescription:
        """Return it as code-object families say it.

        :raises ValueError: an argument is wrong.
        """
        return LaunchDescription(
            kernel=self.kernel,
            arguments=tuple(one.plain() for one in self.arguments),
            grid=self.grid,
            block=self.block,
            dynamic_lds=self.dynamic_lds,
            workspace=self.workspace,
            conditions=self.conditions,
            cleared=self.cleared,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedInstance(Instance):
    """The one kernel that is judged."""

    pipeline: ClassVar[str] = "judged"

    #: of code object and description
    content: str


class _JudgedFamily(CodeObjectFamily):
    """A family of one kernel, which is registered nowhere."""

    id = JudgedInstance.pipeline
    label = "a kernel that is judged"
    #: whatever a description is for
    directions: frozenset[str] = frozenset()

    def __init__(self, path: Path, code: bytes, description: LaunchDescription) -> None:
        self._name = _NO_NAME.sub("_", path.stem)
        self._code_object, self._description = code, description

    def make_instance(self, catalog: Any, direction: str, record: Any) -> Instance:
        """Refuse: no list has such kernels."""
        raise InputError("a kernel that is judged comes from no list")

    def kernel_name(self, instance: Any) -> str:
        """Return the name of its file."""
        return f"judged_{self._name}"

    def instance_string(self, instance: Any) -> str:
        """Return the name of its file."""
        return self.kernel_name(instance)

    def code_object(self, instance: Any, arch: str) -> bytes:
        """Return what the file has."""
        return self._code_object

    def launch_description(self, instance: Any) -> LaunchDescription:
        """Return what the file says."""
        return self._description


class _SourceFamily(_JudgedFamily):
    """A family of one kernel in a HIP source with the C entry."""

    def __init__(self, path: Path, function: str, digest: str) -> None:
        self._name = _NO_NAME.sub("_", path.stem)
        self._path, self._function, self._digest = path.resolve(), function, digest

    def render_named(self, instance: Any, name: str, arch: str, api_level: str) -> KernelSource:
        """Return a header that includes the source."""
        sizes = sizes_of(instance.direction)
        header = render(
            __package__,
            "judged_source.hpp.j2",
            version=__version__,
            digest=self._digest,
            path=string_literal(str(self._path)),
            name=name,
            adapter=sizes.adapter,
            ndim=instance.ndim,
            function=self._function,
            instance_string=string_literal(self.instance_string(instance)),
            layouts=layouts_of(instance.layout) if sizes.adapter == "product" else (),
        )
        launcher = f"ns_{name}::Launcher"
        return KernelSource(name=name, header=header, launcher=launcher, host_args=f"{launcher}::HostArgs")

    def compilation(self, instances: Sequence[Instance], recipe: BuildRecipe) -> BuildRecipe:
        """Return a recipe with the folders of what is included."""
        changed = super().compilation(instances, recipe)
        folders = (*changed.include_dirs, INCLUDE_DIR, abi_dir(), self._path.parent)
        # the header has the digest of the source
        return replace(changed, include_dirs=tuple(dict.fromkeys(folders)))


def described(
    profiler: Profiler, path: Path, task: Task, options: JudgeOptions, folder: Path, build: BuildOptions
) -> Candidate:
    """Return the library of a code object, which runs on the device of the options.

    :param path: of the description.
    :param folder: where files may lie; must exist.
    :param build: with the compiler, if one is named.
    :raises InputError: description or code object cannot be read, or do not fit together.
    :raises UsageError: no device is named.
    :raises ToolchainError: the library cannot be built.
    """
    if options.device is None:
        raise UsageError(f"{path}: a code object needs --device, such as --device emulated")
    launch = _read(path)
    code_path = path.parent / launch.code_object
    digests = {str(one): digest_of(one) for one in (path, code_path)}
    code = code_path.read_bytes()
    arch = _ARCH.search(code)
    if arch is None:
        raise InputError("this is not a code object for an AMD GPU", code_path)
    try:
        # of what a family may offer besides, it has nothing
        make: Any = _JudgedFamily
        family = make(path, code, launch.description())
    except ValueError as exc:
        raise InputError(str(exc), path) from exc
    build = replace(build, arch=arch[1].decode())
    return _built(profiler, path, family, digests, task, options, folder, build)


def compiled_for_device(
    profiler: Profiler, request: OpenRequest, task: Task, options: JudgeOptions, build: BuildOptions
) -> Candidate:
    """Return the library of a HIP source with the C entry, which runs on the device of the options.

    :param build: with architecture and compiler, if any is named.
    :raises InputError: the source cannot be read, or does not compile.
    :raises ToolchainError: the library cannot be built.
    """
    digest = digest_of(request.path)
    make: Any = _SourceFamily
    family = make(request.path, request.function or C_ENTRY, digest)
    digests = {str(request.path): digest}
    return _built(profiler, request.path, family, digests, task, options, request.folder, build)


def _built(
    profiler: Profiler,
    path: Path,
    family: Any,
    digests: dict[str, str],
    task: Task,
    options: JudgeOptions,
    folder: Path,
    build: BuildOptions,
) -> Candidate:
    """Build the library of a family's one kernel."""
    instance = JudgedInstance(
        id=0,
        direction=task.operation.id,
        ndim=task.layout.ndim,
        layout=task.layout,
        dtype=task.types.operands[0],
        content=digest_parts(*digests.values()),
    )
    kernel = KernelNames().candidate(instance, family, index=0, source=str(path))
    selection = Selection(conversions=(), candidates=(kernel,), source=str(path))
    device = options.device if isinstance(options.device, str) else ""
    library = profiler.build(selection, replace(build, target=_TARGET, device=device))
    if library.path is None:
        raise InputError("; ".join(one.reason for one in library.rejected) or "it does not compile", path)
    opened = open_candidate(OpenRequest(path=library.path, function="0", folder=folder))
    # it has the C entry as well
    return replace(opened, kind="kernels", path=path, digests={**digests, **opened.digests})


def _read(path: Path) -> _Launch:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Launch)
    except OSError as exc:
        raise InputError(f"cannot be read ({exc.strerror})", path) from exc
    except msgspec.DecodeError as exc:
        raise InputError(f"not a description of a launch: {exc}", path) from exc
