"""A kernel family whose kernels come as code objects: what it gives, and the C++ that is made of it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import CkprofError, InputError, UsageError
from ckprof.kernels.c_interface import string_literal
from ckprof.kernels.jinja import render
from ckprof.kernels.keys import digest_parts
from ckprof.kernels.units import available_cpus
from ckprof.model.recipe import MachinePart, Product
from ckprof.plugin.protocols import KernelSource, Pipeline
from ckprof.testing.contract import CannotTry
from ckprof.version import __version__
from ckprof_plugins.code_objects.description import SCALARS, Placed, Scalar, check
from ckprof_plugins.code_objects.formula import formula
from ckprof_plugins.code_objects.sizes import sizes_of
from ckprof_plugins.operations.gemm.problem import GemmProblem
from ckprof_plugins.pipelines.second_problems import MULTIPLES, beyond, convolutions_with_tails
from ckprof_plugins.targets.hip.code_object import EMBEDDED_SECTION, metadata_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ckprof.model.instance import Instance
    from ckprof.model.recipe import BuildRecipe
    from ckprof.model.requirement import UnmetRequirement
    from ckprof_plugins.code_objects.description import Checked, LaunchDescription
    from ckprof_plugins.code_objects.sizes import Sizes

INCLUDE_DIR: Final = Path(__file__).parent / "include"
_TARGET: Final = "hip"
_SHOWN: Final = "-DCKPROF_SHOW_CODE_OBJECTS"
_BUNDLE: Final = b"__CLANG_OFFLOAD_BUNDLE__"
_BYTES_PER_LINE: Final = 24
#: what reports show of a compiler's messages
_LINES: Final = 8
#: largest number of workgroups along each axis, and of work-items: what launches can say
_GRID_MOST: Final = (2**31 - 1, 2**16 - 1, 2**16 - 1)
_BLOCK_MOST: Final = 1024
_LDS_MOST: Final = 2**31 - 1


class CodeObjectError(CkprofError):
    """A kernel does not compile: the build continues without it, and its row says why."""


class OtherTargetError(UsageError, CannotTry):
    """Kernels are asked for on a target that has none of them; plugins cannot be checked there."""


class CodeObjectFamily(Pipeline):
    """A family that derives from it gives code objects and how they are launched; C++ is made of these.

    What :class:`ckprof.plugin.protocols.Pipeline` has besides are instances, their names and their rules.
    """

    def code_object(self, instance: Any, arch: str) -> bytes:
        """Return the code object (ELF) of an instance. It may be compiled here; then it should be kept.

        Called in several threads, and whenever sources are generated. The bytes must depend on the arguments
        only.

        :raises CodeObjectError: this kernel does not compile.
        :raises ToolchainError: none does, e.g. because the compiler is not installed.
        """
        raise NotImplementedError("the family lacks code_object(instance, arch)")

    def launch_description(self, instance: Any) -> LaunchDescription:
        """Return how the kernel of an instance is launched."""
        raise NotImplementedError("the family lacks launch_description(instance)")

    def missing(self, instances: Sequence[Any], arch: str) -> Sequence[Any]:
        """Return the instances whose code objects would take a while; none if it is not known."""
        return ()

    #: seconds of CPU time that compiling a kernel takes, roughly
    compile_s: float = 3.0

    def unmet_requirements(self, instance: Any, arch: str, api_level: str) -> Sequence[UnmetRequirement]:
        """Return the rules that an instance breaks: none."""
        return ()

    def default_problem(self, instance: Any, usual: Any) -> Any:
        """Return what an instance is run on when no problem is given: the usual problem."""
        return usual

    def second_problems(self, instance: Any) -> Sequence[Sequence[Any]]:
        """Return small problems with tails; a family that knows its kernels' tiles may say better ones."""
        if sizes_of(instance.direction).adapter != "product":
            return [convolutions_with_tails(instance.ndim)]
        lengths = [{"m": 128, "n": 64, "k": 32}, {"m": 1, "n": 1, "k": 1}]
        return [
            [
                GemmProblem(**{axis: beyond(one, multiple) for axis, one in least.items()})
                for multiple in MULTIPLES
            ]
            for least in lengths
        ]

    def render(self, instance: Any, arch: str, api_level: str) -> KernelSource:
        """Return the header of an instance under its own name."""
        return self.render_named(instance, self.kernel_name(instance), arch, api_level)

    def render_named(self, instance: Any, name: str, arch: str, api_level: str) -> KernelSource:
        """Return the header of an instance: the code object, and its launch as C++.

        :raises InputError: the description does not fit the code object.
        """
        launcher = f"ns_{name}::Launcher"
        return KernelSource(
            name=name,
            header=self._header(instance, name, arch),
            launcher=launcher,
            host_args=f"{launcher}::HostArgs",
        )

    def _header(self, instance: Any, name: str, arch: str) -> str:
        common = {"version": __version__, "name": name, "key": instance.key}
        try:
            code = self._code(instance, arch.partition(":")[0])
        except CodeObjectError as exc:
            lines = [line.replace("\\", "/") for line in str(exc).splitlines() if line.strip()][:_LINES]
            return render(__package__, "failed.hpp.j2", lines=lines, **common)
        sizes = sizes_of(instance.direction)
        where = f"code object of {name}"
        if not isinstance(code, bytes):
            raise InputError(f"{where}: code_object() returned {type(code).__name__}, expected bytes")
        if code.startswith(_BUNDLE):
            raise InputError(
                f"{where}: it is an offload bundle, expected the code object alone (ELF): clang makes it "
                "with --no-gpu-bundle-output"
            )
        checked = check(self.launch_description(instance), metadata_of(code, where)[0], sizes, where)
        return render(
            __package__,
            "kernel.hpp.j2",
            **common,
            section=EMBEDDED_SECTION,
            launcher_digest=_launcher_digest(),
            size=len(code),
            code=_array(code),
            adapter=sizes.adapter,
            ndim=instance.ndim,
            layouts=layouts_of(instance.layout) if sizes.adapter == "product" else (),
            instance_string=string_literal(self.instance_string(instance)),
            **_launch(checked, sizes),
        )

    def compilation(self, instances: Sequence[Instance], recipe: BuildRecipe) -> BuildRecipe:
        """Return a recipe with what the generated sources include, and with what compiles the code objects.

        :raises UsageError: the target does not load code objects.
        """
        if recipe.target != _TARGET:
            raise OtherTargetError(
                f"kernels of {self.id} are code objects for AMD GPUs: they need --target {_TARGET}, not "
                f"{recipe.target}; --device emulated tries them without a GPU"
            )
        own = [one for one in instances if one.pipeline == self.id]
        changed = replace(
            recipe,
            include_dirs=(*recipe.include_dirs, INCLUDE_DIR),
            # each header says which state of the launcher it includes: keys of other families' kernels stay
            digested_dirs=recipe.digested_dirs or recipe.include_dirs,
            parts=(*recipe.parts, *self._parts(own, recipe.arch.partition(":")[0])),
        )
        if recipe.product is not Product.CODE_OBJECTS:
            return changed
        return replace(
            changed,
            kernel_flags=(*recipe.kernel_flags, _SHOWN),
            # of several in one file nothing tells whose code is whose
            functions_per_unit=1,
            # what it holds is used by other families
            prefix_header=recipe.prefix_header if len(own) < len(instances) else "",
        )

    def _parts(self, own: Sequence[Any], arch: str) -> Iterator[MachinePart]:
        """Yield what compiles code objects that are missing."""
        missing = list(self.missing(own, arch))
        if not missing:
            return

        def make(jobs: int | None, on_progress: Callable[[int, int, str], None]) -> None:
            from concurrent.futures import ThreadPoolExecutor, as_completed

            with ThreadPoolExecutor(jobs or available_cpus()) as pool:
                started = {pool.submit(self._prepare, one, arch): one for one in missing}
                try:
                    for done, future in enumerate(as_completed(started), 1):
                        future.result()
                        on_progress(done, len(missing), self.kernel_name(started[future]))
                except BaseException:
                    pool.shutdown(cancel_futures=True)
                    raise

        yield MachinePart(
            name=f"{len(missing)} code objects of {self.id}",
            folder=self.folder(),
            cpu_s=self.compile_s * len(missing),
            present=False,
            make=make,
        )

    def folder(self) -> Path:
        """Return where code objects are kept, for messages."""
        from ckprof.paths import cache_dir

        return cache_dir() / "code_objects"

    def _prepare(self, instance: Any, arch: str) -> None:
        """Compile a kernel; one that fails is reported when its source is generated."""
        with suppress(CodeObjectError):
            self._code(instance, arch)

    def _code(self, instance: Any, arch: str) -> bytes:
        """Return the code object; what has failed is not tried again by this process.

        :raises CodeObjectError: it does not compile.
        """
        failures: dict[tuple[str, str], CodeObjectError] = self.__dict__.setdefault("_failures", {})
        if (failed := failures.get((instance.key, arch))) is not None:
            raise failed
        try:
            return self.code_object(instance, arch)
        except CodeObjectError as exc:
            failures[instance.key, arch] = exc
            raise


@lru_cache(maxsize=1)
def _launcher_digest() -> str:
    """Return the digest of what all generated sources include."""
    return digest_parts(*(path.read_text() for path in sorted(INCLUDE_DIR.glob("*.hpp"))))


def _array(code: bytes) -> str:
    """Return bytes as the elements of an array of C++."""
    pieces = (code[at : at + _BYTES_PER_LINE] for at in range(0, len(code), _BYTES_PER_LINE))
    return ",\n".join(",".join(map(str, piece)) for piece in pieces)


def layouts_of(layout: Any) -> list[tuple[str, str]]:
    """Return how matrices lie, as their operation asks launchers."""
    orders = zip("ABE", ("MK", "KN", "MN"), strict=True)
    return [
        (f"{name}Layout", "RowMajor" if layout.order(name.lower()) == by_rows else "ColumnMajor")
        for name, by_rows in orders
    ]


def _launch(checked: Checked, sizes: Sizes) -> dict[str, object]:
    """Return what the template is filled with."""
    description = checked.description

    def cpp(text: str | int) -> str:
        return formula(text, sizes.names).cpp

    return {
        "symbol": string_literal(description.kernel),
        "argument_bytes": checked.argument_bytes,
        "workspace": cpp(description.workspace),
        "cleared": [{"role": one.role, "bytes": cpp(one.bytes)} for one in description.cleared],
        "grid": [cpp(one) for one in description.grid],
        "block": [cpp(one) for one in description.block],
        "dynamic_lds": cpp(description.dynamic_lds),
        "conditions": list(_conditions(checked, sizes)),
        "arguments": [
            {
                "offset": one.offset,
                "role": "",
                "type": SCALARS[one.value.kind][0],
                "value": cpp(one.value.value),
            }
            if isinstance(one.value, Scalar)
            else {"offset": one.offset, "role": one.value.role, "value": cpp(one.value.offset)}
            for one in checked.placed
        ],
    }


def _conditions(checked: Checked, sizes: Sizes) -> Iterator[dict[str, str]]:
    """Yield what problems must meet: what the family says, and what follows from the types of numbers."""
    description = checked.description
    if not description.splits(sizes.names):
        yield _condition("split-k", "split_k == 1", "the kernel does not split its reduction", sizes)
    for one in description.conditions:
        yield _condition(one.id, one.holds, one.text, sizes)
    for place in checked.placed:
        if isinstance(place.value, Scalar):
            yield from _fits(place, place.value, sizes)
    for axis, text, most in zip("xyz", description.grid, _GRID_MOST, strict=False):
        yield _range("grid", f"workgroups along {axis}", text, 1, most, sizes)
    for axis, text in zip("xyz", description.block, strict=False):
        yield _range("block", f"work-items along {axis}", text, 1, _BLOCK_MOST, sizes)
    yield _range("lds", "bytes of dynamic LDS", description.dynamic_lds, 0, _LDS_MOST, sizes)


def _fits(place: Placed, value: Scalar, sizes: Sizes) -> Iterator[dict[str, str]]:
    """Yield that a number fits into its type, unless every number of 64 bits does."""
    _, size, least, most = SCALARS[value.kind]
    if size < 8 or least >= 0 or value.kind == "f64":
        name = place.name.rpartition(": ")[2]
        yield _range(
            "argument-range", f"{name} ({value.value}, {value.kind})", value.value, least, most, sizes
        )


def _range(id: str, what: str, text: str | int, least: int, most: int, sizes: Sizes) -> dict[str, str]:
    expression = formula(text, sizes.names).cpp
    return {
        "id": string_literal(id),
        "holds": f"within({expression}, {least}, {most})",
        "reason": f"{string_literal(f'{what} is ')} + to_string({expression}) + "
        f"{string_literal(f', expected {least} to {most}')}",
    }


def _condition(id: str, holds: str, text: str, sizes: Sizes) -> dict[str, str]:
    condition = formula(holds, sizes.names)
    named = ((", " if place else ": ", name) for place, name in enumerate(sorted(condition.used)))
    values = " + ".join(
        f"{string_literal(f'{before}{name} = ')} + to_string(s.{name})" for before, name in named
    )
    reason = string_literal(text)
    return {
        "id": string_literal(id),
        "holds": condition.cpp,
        "reason": f"std::string({reason}) + {values}" if values else f"std::string({reason})",
    }
