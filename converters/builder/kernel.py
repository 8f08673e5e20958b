"""A kernel of CK Builder, and those whose lines say all of it: native lines and depthwise ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.parity import Loss
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType
from ckprof_converters.drop_rules import Drop, DropRule
from ckprof_converters.elementwise import read_epilogue
from ckprof_converters.losses import fields_apart, lost_fields
from ckprof_plugins.directions._convolution import string_kinds
from ckprof_plugins.elementwise.words import PLAIN_OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.strings.kind import StringKind
    from ckprof_plugins.directions._convolution.layout import ConvLayout

#: lanes of a wave
LANES: Final = 64

ASYNC_V4: Final = Loss(
    rule="async-v4", reason="catalogs write the pipeline ASYNC_V4 as mem: the kernel prints MEMORY instead"
)
TWO_STAGE: Final = Loss(
    rule="two-stage",
    reason="the line has no field for the second stage; the generated kernel has one and stores fp32",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel of CK Builder: the fields of its string, and what becomes of it."""

    kind: StringKind
    values: Mapping[str, Any]
    losses: tuple[Loss, ...] = ()
    #: the fields that a loss changes
    changes: Mapping[str, Any]
    skipped: UnmetRequirement | None = None


def native_kernel(kind: StringKind, values: Mapping[str, str | None]) -> Kernel:
    """Return the kernel of a line that is CK Builder's own text.

    :param values: normal spelling of each field.
    """
    plain = {name: value for name, value in values.items() if value is not None}
    weight = kind.name == string_kinds.BACKWARD_WEIGHT.name
    single, stream_k = plain["type_b"] == "fp32", plain.get("streamk_enabled") == "1"
    losses, changes = [], {}
    if plain["pipeline_name"] == "COMPUTE_ASYNC":
        losses.append(ASYNC_V4)
        changes["pipeline_name"] = "MEMORY"
    # with an operation, a line tells the stages apart: the first stores fp32
    fused = plain["operation_result"] not in PLAIN_OPERATIONS and plain["type_result"] == "fp32"
    two_stage = weight and not single and not stream_k and (plain["vector_size_c"] == "1" or fused)
    if two_stage and plain["type_result"] == plain["type_b"]:
        losses.append(TWO_STAGE)
        changes["type_result"] = "fp32"
    results = {string_kinds.FORWARD.name: "output", string_kinds.BACKWARD_DATA.name: "input"}
    epilogue = epilogue_of(
        plain, "operation_result", result=results.get(kind.name, "weight"), result_type=plain["type_b"]
    )
    changes |= {name: text for name, text in epilogue.values.items() if text != plain[name]}
    skipped = epilogue.skipped
    if stream_k and single and "ASYNC" in plain["pipeline_name"]:
        skipped = UnmetRequirement(
            rule=DropRule.STREAM_K_ASYNC_FLOAT.value,
            message="no stream-K kernel of fp32 loads asynchronously",
        )
    kernel = Kernel(kind=kind, values=plain, losses=tuple(losses), changes=changes, skipped=skipped)
    return without_lost(kernel, plain, plain["type_b"], two_stage=two_stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedEpilogue:
    """What a kernel does with its sums, as its string says it."""

    values: Mapping[str, str]
    skipped: UnmetRequirement | None = None


def epilogue_of(
    fields: Mapping[str, str | None], stored: str, *, result: str, result_type: str, operand_tensors: int = 1
) -> PrintedEpilogue:
    """Return what the kernel of a line does with its sums, or why none is generated.

    Strings say nothing of what is done with operands.

    :param fields: of the line.
    :param stored: the field with the operation on the result.
    :param result: which tensor of the convolution is computed.
    :param result_type: spelling of the type of the result.
    :param operand_tensors: of which each operand is made.
    """
    tensors = {name: fields.get(name) or "EmptyTuple" for name in ("layout_extra", "type_extra")}
    values = {name: text.replace("Tuple(", "tuple(").replace(" ", "") for name, text in tensors.items()}
    said = fields.get(stored) or "PassThrough"
    values["operation_result"] = "PassThrough" if said in PLAIN_OPERATIONS else said
    read = read_epilogue(fields, stored, result_type, result=result, operand_tensors=operand_tensors)
    skipped = UnmetRequirement(rule=read.rule, message=read.reason) if isinstance(read, Drop) else None
    return PrintedEpilogue(values=values, skipped=skipped)


def without_lost(kernel: Kernel, fields: Mapping[str, str], dtype: str, *, two_stage: bool) -> Kernel:
    """Return a kernel as its catalog has it, without what the line says and catalogs cannot hold.

    :param fields: of the line.
    :param dtype: spelling of the operands' type.
    :param two_stage: the generated kernel has a second stage.
    """
    operands = DataType.of_string(dtype)
    lost = lost_fields(fields_apart(fields), fields, operands, two_stage=two_stage)
    kept = {item.field: item.kept for item in lost}
    changes = {name: value for name, value in kept.items() if name in kernel.values}
    losses = (*kernel.losses, *(item.loss for item in lost))
    return replace(kernel, losses=losses, changes={**kernel.changes, **changes})


def in_layout(kernel: Kernel, layout: ConvLayout) -> Kernel:
    """Return a kernel as the catalog of a list has it whose name says another layout than its lines."""
    loss = Loss(
        rule="layout-of-name",
        reason=f"the lines say {kernel.values['layout_input']}, the name of the list says {layout.name}: "
        "the catalog follows the name",
    )
    changes = {
        "ndim": layout.ndim,
        "layout_input": layout.input,
        "layout_weight": layout.weight,
        "layout_output": layout.output,
    }
    return replace(kernel, losses=(*kernel.losses, loss), changes={**kernel.changes, **changes})


def depthwise_kernel(fields: Mapping[str, str], dtype: str) -> Kernel:
    """Return the depthwise kernel of a line of twelve numbers, of one element type."""
    same = ("tile_h", "tile_w", "str_h", "str_w", "nbatch", "sub_h", "sub_w", "in_vec", "out_vec")
    return Kernel(
        kind=string_kinds.DEPTHWISE,
        values={
            **{name: fields[name] for name in same},
            **{"ndim": 2, "weight_vec": fields["in_vec"], "block_size": LANES},
            **{"filt_h": fields["filt"], "filt_w": fields["filt"]},
            **{f"type_{role}": dtype for role in ("input", "weight", "output")},
        },
        changes={},
    )
