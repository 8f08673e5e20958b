"""A kernel of CK Builder, and those whose lines say all of it: native lines and depthwise ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.parity import Loss
from ckprof.model.requirement import UnmetRequirement
from ckprof_converters.drop_rules import DropRule
from ckprof_plugins.directions._convolution import string_kinds

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
    if kind.name != string_kinds.BACKWARD_WEIGHT.name:
        changed = plain.get("pipeline_name") == "COMPUTE_ASYNC"
        return Kernel(
            kind=kind,
            values=plain,
            losses=(ASYNC_V4,) if changed else (),
            changes={"pipeline_name": "MEMORY"} if changed else {},
        )
    single = plain["type_b"] == "fp32"
    stream_k = plain["streamk_enabled"] == "1"
    losses, changes = [], {}
    if plain["pipeline_name"] == "COMPUTE_ASYNC":
        losses.append(ASYNC_V4)
        changes["pipeline_name"] = "MEMORY"
    if not single and plain["vector_size_c"] == "1" and not stream_k and plain["type_result"] != "fp32":
        losses.append(TWO_STAGE)
        changes["type_result"] = "fp32"
    skipped = None
    if stream_k and single and "ASYNC" in plain["pipeline_name"]:
        skipped = UnmetRequirement(
            rule=DropRule.STREAM_K_ASYNC_FLOAT.value,
            message="no stream-K kernel of fp32 loads asynchronously",
        )
    return Kernel(kind=kind, values=plain, losses=tuple(losses), changes=changes, skipped=skipped)


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
