"""From the arguments of a line to the type of the old library that the line is.

The order of a line's arguments is that of the template's, and each is spelled by its kind. What differs is a
table: :data:`OLD_CLASSES`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, ToolchainError, system_errors
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.grammar import split_arguments
from ckprof_converters.families import FAMILIES
from ckprof_plugins.elementwise.operations import ELEMENT_OPERATION
from ckprof_plugins.extract.classes import class_records, read_head
from ckprof_plugins.extract.headers import DEVICES
from ckprof_plugins.old_ck.dot_product import DL_FORWARD
from ckprof_plugins.old_ck.operations import cpp_operation
from ckprof_plugins.targets.hip.fetch import FETCH_COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ckprof.model.strings.argument_kinds import Kind
    from ckprof.model.strings.fields import Field
    from ckprof_converters.conf_family import ConfFamily
    from ckprof_plugins.elementwise.operations import ElementwiseOp

#: states of the library whose templates are known
LEVELS: Final = ("2025-11",)
_DEVICE: Final = "ck::tensor_operation::device::"


@dataclass(frozen=True, slots=True, kw_only=True)
class OldClass:
    """A device operation."""

    #: of the class template
    name: str
    #: the table of its lines
    family: ConfFamily
    #: of its enumeration of specializations
    direction: str
    #: arguments of lines that repeat another one
    repeated: tuple[str, ...] = ()
    #: argument that lines lack, the one that it follows, and the one whose value it has
    implied: tuple[str, str] | None = None
    #: whether CK Builder has a string of it, as of :data:`LEVELS`
    reflected: bool = False
    #: level -> arguments that its template lacks -> the value that all lines have which it has kernels of
    absent: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: a kernel template of its header that the header of another class defines as well: one of both needs
    #: another name where they are included together
    ambiguous_kernel: str = ""

    @property
    def header(self) -> str:
        """The header that declares it, below an include folder."""
        return f"{DEVICES}/{class_records()[self.name].header}"


_V3: Final = {"2025-11": {"num_groups_to_merge": "1"}}
_WEIGHT_V3: Final = {"2025-11": {"direct_load": "0", "num_groups_to_merge": "1", "split_image": "0"}}


def _known() -> dict[str, OldClass]:
    families = {family.id: family for family in (*FAMILIES, DL_FORWARD)}

    def known(id_: str, direction: str, name: str = "", **differs: object) -> OldClass:
        family = families[id_]
        return OldClass(
            name=name or family.names[0],
            family=family,
            direction=direction,
            **differs,  # type: ignore[arg-type]
        )

    forward, weight = "Forward", "BackwardWeight"
    return {
        item.family.id: item
        for item in (
            known("forward", forward, reflected=True),
            known("forward_two_tensors", forward, reflected=True),
            known("forward_v3", forward, absent=_V3, reflected=True),
            known("forward_v3_two_tensors", forward, absent=_V3, reflected=True),
            known("dl_forward", forward, reflected=True),
            known("forward_large_tensor", forward, reflected=True),
            known(
                "backward_data",
                "BackwardData",
                families["backward_data"].names[1],
                repeated=("prefetch_stages_again",),
                implied=("type_accumulator", "type_input"),
            ),
            known("backward_weight", weight, reflected=True),
            known("backward_weight_v3", weight, absent=_WEIGHT_V3),
            known("backward_weight_two_stage", weight),
            known(
                "backward_weight_multiple_d_xdl",
                weight,
                ambiguous_kernel="kernel_batched_gemm_xdlops_bwd_weight",
            ),
        )
    }


@cache
def old_classes() -> Mapping[str, OldClass]:
    """Return id of a family of lines -> the device operation that they are."""
    return MappingProxyType(_known())


_TYPES: Final = {
    "fp64": "double",
    "fp32": "float",
    "tf32": "ck::tf32_t",
    "fp16": "ck::half_t",
    "bf16": "ck::bhalf_t",
    "fp8": "ck::f8_t",
    "bf8": "ck::bf8_t",
    "s8": "int8_t",
    "s32": "int32_t",
}


def _tuple(elements: Sequence[str]) -> str:
    return f"ck::Tuple<{', '.join(elements)}>"


def _sequence(text: str) -> str:
    return f"ck::Sequence<{text.removeprefix('Seq(').removesuffix(')')}>"


def _named(place: str) -> Callable[[str], str]:
    return lambda text: f"{place}{text}"


_layout: Final = _named("ck::tensor_layout::convolution::")

#: kind of an argument -> what it is in C++
_SPELLED: Final[Mapping[Kind, Callable[[str], str]]] = {
    **dict.fromkeys((kinds.INT, kinds.POSITIVE, *kinds.FLAGS), str),
    kinds.LAYOUT: _layout,
    kinds.ELEMENT_TYPE: _TYPES.__getitem__,
    kinds.ELEMENT_PAIR: lambda text: _tuple([_TYPES[name] for name in kinds.elements_of(text)]),
    kinds.SEQUENCE: _sequence,
    kinds.GEMM_PADDING: _named(f"{_DEVICE}GemmSpecialization::"),
    kinds.SCHEDULER: _named("ck::BlockGemmPipelineScheduler::"),
    kinds.VERSION: _named("ck::BlockGemmPipelineVersion::"),
    kinds.LOOP_SCHEDULER: _named("ck::LoopScheduler::"),
}


def _cpp(old: OldClass, field: Field, text: str, operation: ElementwiseOp | None) -> str:
    if field.kind is kinds.SPECIALIZATION:
        return f"{_DEVICE}Convolution{old.direction}Specialization::{text}"
    if field.kind is ELEMENT_OPERATION:
        return cpp_operation(text, operation)
    if field.kind is kinds.TUPLE:
        spelled = _layout if field.name.startswith("layout") else _TYPES.__getitem__
        return _tuple([spelled(name) for name in kinds.elements_of(text)])
    return _SPELLED[field.kind](text)


#: kinds of arguments that are types, where others are values
_TYPE_KINDS: Final = (
    *(kinds.LAYOUT, kinds.ELEMENT_TYPE, kinds.ELEMENT_PAIR, kinds.SEQUENCE, kinds.TUPLE),
    ELEMENT_OPERATION,
)


@lru_cache(maxsize=4096)
def line_values(family: str, arguments: str) -> Mapping[str, str]:
    """Return the arguments of a line by the names of their fields; of K0 and K1, their product as well."""
    fields = old_classes()[family].family.fields
    texts = split_arguments(arguments, 0, len(arguments))
    values = {field.name: argument.text for field, argument in zip(fields, texts, strict=True)}
    return values if "k0" not in values else {**values, "tile_k": f"{int(values['k0']) * int(values['k1'])}"}


def cpp_type(family: str, arguments: str, level: str, operation: ElementwiseOp | None = None) -> str:
    """Return the type that a line is, with all its template arguments.

    :param family: id of the family of the line.
    :param arguments: those of the line, in the spelling of its latest revision.
    :param level: the state of the library.
    :param operation: what an operation is that the line calls combined.
    :raises InputError: an operation does not say what it is.
    """
    old = old_classes()[family]
    values = line_values(family, arguments)
    written = (_cpp(old, one, values[name], operation) for one, name in _template(old, level))
    return f"{_DEVICE}{old.name}<{', '.join(written)}>"


def _template(old: OldClass, level: str) -> Iterator[tuple[Field, str]]:
    """Yield the fields of lines in the order of the template, and those whose values they have."""
    omitted = {*old.repeated, *old.absent.get(level, ())}
    fields = {one.name: one for one in old.family.fields}
    for name, one in fields.items():
        if name not in omitted:
            yield one, name
        if old.implied is not None and old.implied[0] == name:
            yield fields[old.implied[1]], old.implied[1]


def check_template(family: str, level: str, root: Path) -> None:
    """Check that headers declare a class whose template takes what its types have: types and values.

    :param root: the folder with them.
    :raises ToolchainError: they do not.
    """
    old = old_classes()[family]
    advice = (
        f"name a source tree of {level} with --ck-root, such as the one that '{FETCH_COMMAND} {level}' "
        f"fetches, or leave the lines of {old.name} out with --exclude 'old_class == \"{family}\"'"
    )
    header = root / old.header
    if not header.is_file():
        raise ToolchainError(f"{root}: no {old.header}, which declares {old.name}; {advice}")
    with system_errors(ToolchainError, "cannot be read", header):
        text = header.read_text(encoding="utf-8", errors="replace")
    try:
        declared = [one for one in read_head(text, old.name, str(header)) if one.kind != "condition"]
    except InputError as exc:
        raise ToolchainError(f"{exc}; {advice}") from exc
    written = [name for _, name in _template(old, level)]
    are_types = [one.kind in _TYPE_KINDS for one, _ in _template(old, level)]
    least = sum(not one.has_default for one in declared)
    if not least <= len(written) <= len(declared):
        found = f"has {len(declared)} template arguments, those of {level} have {len(written)}"
    elif odd := [
        (one.name, name)
        for one, name, is_type in zip(declared, written, are_types, strict=False)
        if (one.kind in ("typename", "class")) is not is_type
    ]:
        found = f"has a template argument {odd[0][0]} where lines have {odd[0][1]}"
    else:
        return
    raise ToolchainError(f"{header}: {old.name} {found}; {advice}")


def lacking(family: str, arguments: str, level: str) -> UnmetRequirement | None:
    """Return why the library has no such type in a state; ``None`` if it has."""
    if level not in LEVELS:
        return UnmetRequirement(
            rule="old-ck-level",
            message=f"the old library is known as of {', '.join(LEVELS)}, the headers are of {level}",
            found=level,
            allowed=", ".join(LEVELS),
        )
    old, values = old_classes()[family], line_values(family, arguments)
    for name, kept in old.absent.get(level, {}).items():
        value = values[name]
        if kinds.FLAG_NORMAL.get(value, value) != kept:
            return UnmetRequirement(
                rule="old-ck-argument",
                message=f"{old.name} of {level} has no argument for {name}, and the line says {value}",
                found=value,
                allowed=kept,
            )
    return None
