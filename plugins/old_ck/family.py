"""The kernel family: instances, which of them a state of the library has, and their sources."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ckprof.errors import InputError, ToolchainError, UsageError
from ckprof.kernels.c_interface import boolean
from ckprof.kernels.jinja import render
from ckprof.model.architecture import find_architecture
from ckprof.model.instance import Instance
from ckprof.model.recipe import Product
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType, TypeSet
from ckprof.plugin.protocols import KernelSource, Pipeline
from ckprof.version import __version__
from ckprof_converters.reflection.program import CONFIG_DIR, NAMES_DIR, name_flags
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem
from ckprof_plugins.directions._convolution.layout import types_of
from ckprof_plugins.elementwise.combination import Combination
from ckprof_plugins.elementwise.operation import DExtent
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.old_ck.answers import answering, only_answers
from ckprof_plugins.old_ck.cpp_types import (
    LEVELS,
    check_template,
    cpp_type,
    lacking,
    line_values,
    old_classes,
)
from ckprof_plugins.old_ck.lines import OLD_CK
from ckprof_plugins.old_ck.operations import made_of
from ckprof_plugins.pipelines.family import result_of
from ckprof_plugins.pipelines.gemm_instance import per_channel
from ckprof_plugins.targets.hip.fetch import FETCH_COMMAND
from ckprof_plugins.targets.hip.rocm import find_hip_root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.catalog import Catalog
    from ckprof.model.recipe import BuildRecipe
    from ckprof_plugins.directions._convolution.convolution import Convolution
    from ckprof_plugins.directions._convolution.layout import ConvLayout
    from ckprof_plugins.old_ck.lines import OldCkRecord

INCLUDE_DIR: Final = Path(__file__).parent / "include"
_TARGET: Final = "hip"
_SIGN: Final = Path("ck", "ck.hpp")
_CONFIGURATION: Final = Path("ck", "config.h")
#: folders of headers beside that of a source tree
_BESIDE: Final = (Path("library", "include"), Path("experimental", "builder", "include"))

#: macros by which the library is configured; what architectures have besides
_MACROS: Final = ("CK_USE_XDL",)
_MACROS_OF: Final = {
    "gfx90a": ("CK_USE_FP8_ON_UNSUPPORTED_ARCH", "CK_USE_FNUZ_FP8"),
    "gfx942": ("CK_USE_GFX94", "CK_USE_FNUZ_FP8"),
    "gfx950": ("CK_USE_GFX94", "CK_USE_OCP_FP8"),
}
#: measured with clang 19 and headers of November 2025: the largest of 18 kernels
_COMPILE_MEMORY: Final = 1000 * 2**20
#: for each further device function: 17 forward lines took 2,270 MB
_FURTHER_MEMORY: Final = 50 * 2**20
#: what a unit's lines share, some 30 s, is little beside 20 of them
_FUNCTIONS_PER_UNIT: Final = 40
#: device functions of a line, about, and M times N of a tile from which on lines of V3 cost as much as two
#: others: eleven took 26 s each in a unit, others 11 s
_FUNCTIONS: Final = 2
_LARGE_TILE: Final = 128 * 128
#: direction -> the interface of its operations, and its operations on first operand, second one and result
_INTERFACES: Final = {
    "fwd": ("forward", ("operation_a", "operation_b", "operation_output")),
    "bwd_data": ("backward_data", ("operation_output", "operation_weight", "operation_input")),
    "bwd_weight": ("backward_weight", ("operation_input", "operation_weight", "operation_output")),
}
#: arguments of lines that filters and reports know
_SHOWN: Final = (
    *("block_size", "tile_m", "tile_n", "tile_k", "mma_m", "mma_n", "repeat_m", "repeat_n"),
    *("vector_size_a", "vector_size_b", "vector_size_c", "specialization", "scheduler", "version"),
    "num_groups_to_merge",
)
_ROLES: Final = ("first", "second", "result")
#: families of lines whose kernels choose the number of splits, and those whose splits are added up before
#: they are rounded
_SPLITTING: Final = frozenset({"backward_weight_two_stage"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OldCkInstance(Instance):
    """A device operation of the old library."""

    pipeline: ClassVar[str] = OLD_CK

    optional_fields: ClassVar[frozenset[str]] = frozenset(
        {"elementwise_op", "d_layouts", "dtype_b", "dtype_result", "d_dtypes"}
    )

    layout: ConvLayout
    #: id of the family of its lines
    old_class: str
    #: of its line
    arguments: str
    elementwise_op: ElementwiseOp | None = None
    #: layouts of its D tensors, separated by commas; ``None``: it takes none
    d_layouts: str | None = None
    #: types of the second operand and of the result; ``None``: the usual ones of :attr:`dtype`
    dtype_b: DataType | None = None
    dtype_result: DataType | None = None
    #: types of the D tensors, separated by commas; ``None``: that of the result
    d_dtypes: str | None = None
    types: TypeSet = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        further = tuple(map(DataType.parse, self.d_dtypes.split(","))) if self.d_dtypes else ()
        types = types_of(self.dtype, self.dtype_b, self.dtype_result, further)
        said = line_values(self.old_class, self.arguments) if self.elementwise_op is not None else {}
        if said.get("type_shuffle") == DataType.INT8.spelled:
            types = replace(types, narrowed=DataType.INT8)
        object.__setattr__(self, "types", types)  # of a frozen class; it depends on nothing that can change

    @property
    def d_tensors(self) -> tuple[str, ...]:
        """Layout of each D tensor."""
        return tuple(self.d_layouts.split(",")) if self.d_layouts else ()

    @property
    def line(self) -> str:
        """The line that names it."""
        return f"{old_classes()[self.old_class].family.names[0]}<{self.arguments}>"

    def fields(self) -> dict[str, int | str | bool | None]:
        """Return the fields of :meth:`identity`, and what most lines say; ``None`` where one does not."""
        said = line_values(self.old_class, self.arguments)
        shown = {name: said.get(name) for name in _SHOWN}
        return {
            **super(OldCkInstance, self).fields(),
            **{name: int(text) if text and text.isdecimal() else text for name, text in shown.items()},
        }


class OldCkFamily(Pipeline):
    """Kernels of the old library, from the lines that name them."""

    id = OLD_CK
    label = "the old library's own kernels, for lines of legacy lists"
    directions = frozenset(_INTERFACES)
    library = OLD_CK

    def make_instance(self, catalog: Catalog, direction: str, record: OldCkRecord) -> OldCkInstance:
        """Return the instance of a record.

        :raises InputError: there is no such family of lines, or a value has no meaning.
        """
        if record.old_class not in old_classes():
            known = ", ".join(old_classes())
            raise InputError(f"old_class is {record.old_class!r}, expected one of {known}")
        types = {
            name: DataType.parse(value)
            for name in ("dtype_b", "dtype_result")
            if (value := getattr(record, name)) is not None
        }
        operation = record.elementwise_op
        layout: Any = catalog.layout
        return OldCkInstance(
            id=record.id,
            direction=direction,
            ndim=catalog.ndim,
            layout=layout,
            dtype=catalog.dtype,
            old_class=record.old_class,
            arguments=record.arguments,
            elementwise_op=ElementwiseOp.parse(operation) if operation is not None else None,
            d_layouts=record.d_layouts,
            d_dtypes=record.d_dtypes,
            **types,
        )

    def kernel_name(self, instance: OldCkInstance) -> str:
        """Return a name of what distinguishes most kernels; digits are added where it is taken."""
        said = line_values(instance.old_class, instance.arguments)
        sizes = (
            [said[f"tile_{axis}"] for axis in "mnk"],
            [said.get(name, "") for name in ("mma_m", "mma_n", "thread_m", "thread_n")],
            [said.get(f"vector_size_{letter}", "") for letter in "abc"],
        )
        words = (
            *("old_ck", instance.old_class, instance.dtype.value, instance.layout.name, said["block_size"]),
            *("x".join(filter(None, one)) for one in sizes),
            said["specialization"],
            *(said[name] for name in ("scheduler", "version") if said.get(name, "Default") != "Default"),
        )
        return "_".join(words).lower()

    def instance_string(self, instance: OldCkInstance) -> str:
        """Return the line."""
        return instance.line

    def unmet_requirements(
        self, instance: OldCkInstance, arch: str, api_level: str
    ) -> Sequence[UnmetRequirement]:
        """Return why the library has no such kernel.

        :raises UsageError: there is no such architecture.
        """
        unmet = [lacking(instance.old_class, instance.arguments, api_level)]
        architecture = find_architecture(arch).name
        if architecture not in _MACROS_OF:
            unmet.append(
                UnmetRequirement(
                    rule="old-ck-architecture",
                    message=f"the old library's MFMA kernels are for {', '.join(_MACROS_OF)}",
                    found=architecture,
                    allowed=", ".join(_MACROS_OF),
                )
            )
        return [one for one in unmet if one is not None]

    def default_problem(self, instance: OldCkInstance, usual: Convolution) -> Convolution:
        """Return the direction's problem, with what the kernel does besides and its usual parameters."""
        if instance.elementwise_op is None:
            return usual
        extents = [DExtent.CHANNEL if per_channel(layout) else DExtent.FULL for layout in instance.d_tensors]
        combination = Combination.usual(instance.elementwise_op, extents)
        return FusedConvProblem.of(usual, combination, result_of(instance.direction))

    def render(self, instance: OldCkInstance, arch: str, api_level: str) -> KernelSource:
        """Return the header of an instance under its own name."""
        return self.render_named(instance, self.kernel_name(instance), arch, api_level)

    def render_named(self, instance: OldCkInstance, name: str, arch: str, api_level: str) -> KernelSource:
        """Return the header of an instance.

        :raises InputError: an operation does not say what it is.
        """
        old = old_classes()[instance.old_class]
        direction, operations = _INTERFACES[instance.direction]
        said = line_values(instance.old_class, instance.arguments)
        properties = instance.elementwise_op.properties if instance.elementwise_op else None
        d_tensors = instance.d_tensors
        level = api_level if api_level in LEVELS else LEVELS[-1]
        is_large = "version" in said and int(said["tile_m"]) * int(said["tile_n"]) >= _LARGE_TILE
        text = render(
            __package__,
            "old_ck.hpp.j2",
            version=__version__,
            name=name,
            key=instance.key,
            line=instance.line,
            header=old.header,
            type=cpp_type(instance.old_class, instance.arguments, level, instance.elementwise_op),
            ndim=instance.ndim,
            layout=instance.layout,
            further=old.family.operand_tensors if properties and properties.operands else len(d_tensors),
            number=instance.elementwise_op.number if instance.elementwise_op else 0,
            parameters=properties.parameters if properties else (),
            channel_flags=sum(2**place for place, one in enumerate(d_tensors) if per_channel(one)),
            operand_tensors=old.family.operand_tensors,
            takes_d=boolean("layout_extra" in said),
            operations=[
                (role, made_of(said[name], instance.elementwise_op, place))
                for place, (role, name) in enumerate(zip(_ROLES, operations, strict=True))
            ],
            launcher="splitting_launcher" if instance.old_class in _SPLITTING else "launcher",
            direction=direction,
            reflected=old.reflected,
            ambiguous_kernel=old.ambiguous_kernel,
        )
        return KernelSource(
            name=name,
            header=text,
            launcher=f"ns_{name}::Launcher",
            host_args=f"ns_{name}::Launcher::HostArgs",
            device_functions=_FUNCTIONS * (2 if is_large else 1),
        )

    def compilation(self, instances: Sequence[Instance], recipe: BuildRecipe) -> BuildRecipe:
        """Return a recipe with what the old library's headers need.

        :raises ToolchainError: the tree has no old library, or not the class of a line.
        :raises UsageError: the target has no HIP.
        """
        if recipe.target != _TARGET:
            raise UsageError(
                f"kernels of the old library are for AMD GPUs: use --target {_TARGET}, not {recipe.target}"
            )
        if only_answers(recipe):
            recipe = answering(recipe)
        root = next((one for one in recipe.include_dirs if (one / _SIGN).is_file()), None)
        if root is None:
            raise ToolchainError(
                f"{recipe.include_dirs[0]}: no old library there ({_SIGN} is missing); name a source tree of "
                f"{LEVELS[-1]} with --ck-root, such as the one that '{FETCH_COMMAND} {LEVELS[-1]}' fetches"
            )
        own = [one for one in instances if isinstance(one, OldCkInstance)]
        # of several in one code object nothing tells whose its functions are; the headers of CK Tile do not
        # go together with these
        alone = recipe.product is Product.CODE_OBJECTS or len(own) < len(instances)
        for name in dict.fromkeys(one.old_class for one in own):
            check_template(name, recipe.api_level, root)
        hip_root = find_hip_root()
        beside = tuple(folder for name in _BESIDE if (folder := root.parent / name).is_dir())
        headers = (INCLUDE_DIR, NAMES_DIR, *(() if (root / _CONFIGURATION).is_file() else (CONFIG_DIR,)))
        # of another architecture no kernel is compiled: none is valid
        macros = (*_MACROS, *_MACROS_OF.get(recipe.arch.partition(":")[0], ()))
        return replace(
            recipe,
            kernel_flags=(*recipe.kernel_flags, *(f"-D{name}" for name in macros), *name_flags(hip_root)),
            include_dirs=(*recipe.include_dirs, *beside, *headers),
            digested_dirs=(*(recipe.digested_dirs or recipe.include_dirs), root / "ck", *beside, *headers),
            # what it holds is CK Tile's
            prefix_header="",
            compile_memory_bytes=_COMPILE_MEMORY,
            further_memory_bytes=_FURTHER_MEMORY,
            functions_per_unit=1 if alone else _FUNCTIONS_PER_UNIT,
            # lines of a class share most of what is instantiated
            fields_without_cost=frozenset((*_SHOWN, "arguments")),
        )
