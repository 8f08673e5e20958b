"""From a line to the kernel that CK Builder instantiates, and so to the string that it prints.

This is deliberately a second way beside :mod:`ckprof_converters.derivation`: parity compares the two. It
shares the names of the line's fields and nothing else: it goes from the spelled fields straight to those of
the string, without records, catalogs or their words. Native lines and depthwise ones say all of their kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import lcm
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.parity import Loss
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.strings.argument_kinds import FLAG_NORMAL
from ckprof.model.types import DataType
from ckprof_converters.derivation import fields_apart, lost_fields
from ckprof_converters.drop_rules import DropRule, dropped_by
from ckprof_converters.elementwise import read_epilogue
from ckprof_plugins.directions._convolution import string_kinds
from ckprof_plugins.elementwise.operations import PLAIN_OPERATIONS

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
class BuilderKernel:
    """A kernel of CK Builder: the fields of its string, and what becomes of it."""

    kind: StringKind
    values: Mapping[str, Any]
    losses: tuple[Loss, ...] = ()
    #: the fields that a loss changes
    changes: Mapping[str, Any]
    skipped: UnmetRequirement | None = None


def native_kernel(kind: StringKind, values: Mapping[str, str | None]) -> BuilderKernel:
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
    epilogue, skipped = epilogue_of(
        plain, "operation_result", result=results.get(kind.name, "weight"), result_type=plain["type_b"]
    )
    changes |= {name: text for name, text in epilogue.items() if text != plain[name]}
    if stream_k and single and "ASYNC" in plain["pipeline_name"]:
        skipped = dropped_by(DropRule.STREAM_K_ASYNC_FLOAT, "no stream-K kernel of fp32 loads asynchronously")
    kernel = BuilderKernel(kind=kind, values=plain, losses=tuple(losses), changes=changes, skipped=skipped)
    return without_lost(kernel, plain, plain["type_b"], two_stage=two_stage)


def epilogue_of(
    fields: Mapping[str, str | None], stored: str, *, result: str, result_type: str, operand_tensors: int = 1
) -> tuple[dict[str, str], UnmetRequirement | None]:
    """Return what the kernel of a line does with its sums, as its string says it, or why none is generated.

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
    return values, read if isinstance(read, UnmetRequirement) else None


def without_lost(
    kernel: BuilderKernel, fields: Mapping[str, str], dtype: str, *, two_stage: bool
) -> BuilderKernel:
    """Return a kernel as its catalog has it, without what the line says and catalogs cannot hold.

    :param fields: of the line.
    :param dtype: spelling of the operands' type.
    :param two_stage: the generated kernel has a second stage.
    """
    operands = DataType.of_string(dtype)
    lost = lost_fields(fields_apart(fields), fields, operands, two_stage=two_stage)
    changes = {name: kept for name, (_, _, kept) in lost.items() if name in kernel.values}
    losses = [Loss(rule=rule, reason=f"catalogs have no place for {said}") for rule, said, _ in lost.values()]
    return replace(kernel, losses=(*kernel.losses, *losses), changes={**kernel.changes, **changes})


def in_layout(kernel: BuilderKernel, layout: ConvLayout) -> BuilderKernel:
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


def depthwise_kernel(fields: Mapping[str, str], dtype: str) -> BuilderKernel:
    """Return the depthwise kernel of a line of twelve numbers, of one element type."""
    same = ("tile_h", "tile_w", "str_h", "str_w", "nbatch", "sub_h", "sub_w", "in_vec", "out_vec")
    return BuilderKernel(
        kind=string_kinds.DEPTHWISE,
        values={
            **{name: fields[name] for name in same},
            **{"ndim": 2, "weight_vec": fields["in_vec"], "block_size": LANES},
            **{"filt_h": fields["filt"], "filt_w": fields["filt"]},
            **{f"type_{role}": dtype for role in ("input", "weight", "output")},
        },
        changes={},
    )


#: CK Builder's version of a pipeline -> what its kernel prints
_PRINTED: Final = {
    "V1": "BASIC_V1",
    "V2": "MEMORY",
    "V3": "COMPUTE_V3",
    "V4": "COMPUTE_V4",
    "V6": "COMPUTE_V6",
    "ASYNC_V1": "BASIC_ASYNC_V1",
    "ASYNC_V4": "COMPUTE_ASYNC",
}


class RouteError(Exception):
    """A line whose fields CK Builder cannot instantiate.

    :param field: name of the field to point at.
    """

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """How an old kernel divides its tile; sizes in elements."""

    size: int
    m: int
    n: int
    k: int
    k1: int
    mma_m: int
    mma_n: int
    repeat_m: int
    repeat_n: int
    vectors: tuple[int, int, int]

    @property
    def waves(self) -> tuple[int, int, int]:
        """Waves along M, N and K."""
        along_m = self.m // (self.mma_m * self.repeat_m)
        along_n = self.n // (self.mma_n * self.repeat_n)
        if along_m * self.mma_m * self.repeat_m != self.m or not along_m:
            raise RouteError(f"{self.m} is not a multiple of {self.mma_m} x {self.repeat_m}", "tile_m")
        if along_n * self.mma_n * self.repeat_n != self.n or not along_n:
            raise RouteError(f"{self.n} is not a multiple of {self.mma_n} x {self.repeat_n}", "tile_n")
        if self.size % (LANES * along_m * along_n) or self.size < LANES * along_m * along_n:
            raise RouteError(f"block size {self.size} does not fit {along_m}x{along_n} waves", "block_size")
        return along_m, along_n, self.size // (LANES * along_m * along_n)


def missing_fields(direction: str, fields: Mapping[str, str]) -> list[str]:
    """Return what a line of the old library does not say and nothing else tells; short spellings do so."""
    if "tile" in fields:
        return [] if "k1_pair" in fields else ["k1", "vector_size_c"]
    needed = [
        *("block_size", "tile_m", "tile_n", "mma_m", "mma_n", "repeat_m", "repeat_n"),
        *("vector_size_a", "vector_size_b", "vector_size_c"),
        *(() if direction == "fwd" else ("k1",)),
    ]
    return [name for name in needed if name not in fields]


def gemm_kernel(
    direction: str,
    fields: Mapping[str, str],
    name: str,
    dtype: str,
    mma_k_table: tuple[int, int],
    operand_tensors: int,
) -> BuilderKernel:
    """Return the kernel of a line of the old library.

    :param direction: id of the direction of the line's family.
    :param fields: the line's fields as spelled, with ``ndim``, ``layout_input`` and so on filled in where the
        line itself does not say them.
    :param name: the operation's name.
    :param dtype: spelling of the element type.
    :param mma_k_table: least K of the MMA tiles of the half types, (for 32-wide, for all others).
    :param operand_tensors: of which each operand is made.
    :raises RouteError: the fields contradict each other.
    """
    explicit = "tile" in fields
    result = _TYPES[direction]["type_result"].removeprefix("type_")
    result_type = fields.get(f"type_{result}", dtype)
    epilogue, unmade = epilogue_of(
        fields,
        f"operation_{result}",
        result=result,
        result_type=result_type,
        operand_tensors=operand_tensors,
    )
    if explicit:
        block = _explicit_block(fields)
    else:
        fused = epilogue["operation_result"] != "PassThrough"
        block = _block(direction, fields, is_made=unmade is None, fused=fused)
    single = dtype == "fp32"
    # Short lines say it in the name alone.
    direct_load = "DirectLoad" in name or _true(fields, "direct_load")
    version, scheduler, double = _pipeline(direction, fields, direct_load=direct_load)
    if block.mma_m != block.mma_n:
        raise RouteError(f"the MMA tile must be square, got {block.mma_m}x{block.mma_n}", "mma_n")
    weight_with_d = direction == "bwd_weight" and "MultipleD" in name
    two_stage = "TwoStage" in name or weight_with_d or (explicit and not single and block.vectors[2] % 2 == 1)
    values: dict[str, Any] = {
        "ndim": fields["ndim"],
        "specialization": _specialization(fields, explicit),
        **{field: fields[field] for field in ("layout_input", "layout_weight", "layout_output")},
        **_block_values(block),
        "num_groups_to_merge": fields.get("num_groups_to_merge", "1"),
        "split_image": "Large" in name or _true(fields, "split_image"),
        "explicit_gemm": explicit,
        "warp_tile_k": _mma_k(block, name, single, mma_k_table, is_byte=dtype in _BYTES),
        "pipeline_name": _PRINTED[version],
        "scheduler": scheduler,
        "double_smem_buffer": double,
        "num_wave_groups": 1,
        "type_accumulator": fields.get("type_accumulator", "fp32"),
        **{name: fields.get(role, dtype) for name, role in _TYPES[direction].items()},
        **({"type_result": "fp32"} if two_stage else {}),
        **epilogue,
        **({"streamk_enabled": False} if direction == "bwd_weight" else {}),
    }
    skipped = _skip(direction, block, block.waves) or unmade
    losses = (ASYNC_V4,) if version == "ASYNC_V4" else ()
    kernel = BuilderKernel(
        kind=_KINDS[direction],
        values=values,
        losses=losses,
        changes={"pipeline_name": "MEMORY"} if losses else {},
        skipped=skipped,
    )
    return without_lost(kernel, fields, dtype, two_stage=two_stage)


#: spellings of types of 8 bits, whose MMA tiles are those of one instruction
_BYTES: Final = frozenset({"s8", "fp8", "bf8"})

#: direction -> a type of the string and the line's field with it
_TYPES: Final = {
    "fwd": {"type_a": "type_a", "type_b": "type_b", "type_result": "type_output"},
    "bwd_data": {"type_a": "type_a", "type_b": "type_b", "type_result": "type_input"},
    "bwd_weight": {"type_a": "type_output", "type_b": "type_input", "type_result": "type_weight"},
}

_KINDS: Final = {
    "fwd": string_kinds.FORWARD,
    "bwd_data": string_kinds.BACKWARD_DATA,
    "bwd_weight": string_kinds.BACKWARD_WEIGHT,
}


def _block_values(block: _Block) -> dict[str, int]:
    """Return the fields of a string that a block alone decides.

    :raises RouteError: its waves do not fit.
    """
    waves, (a, b, c) = block.waves, block.vectors
    return {
        **{"vector_size_a": a, "vector_size_b": b, "vector_size_c": c},
        **{"tile_m": block.m, "tile_n": block.n, "tile_k": block.k},
        **{"warp_m": waves[0], "warp_n": waves[1], "warp_k": waves[2]},
        **{"warp_tile_m": block.mma_m, "warp_tile_n": block.mma_n},
    }


def _block(direction: str, fields: Mapping[str, str], *, is_made: bool, fused: bool) -> _Block:
    def number(name: str) -> int:
        return int(fields[name])

    # Short lines of forward do not say K1.
    k1 = number("k1") if "k1" in fields else 0
    if direction == "bwd_data" and fused:
        k1 = lcm(k1, number("k1_b"))
    elif is_made and direction == "bwd_data" and fields["k1_b"] != fields["k1"]:
        raise RouteError(f"AK1 and BK1 must agree, got {k1} and {fields['k1_b']}", "k1_b")
    return _Block(
        size=number("block_size"),
        m=number("tile_m"),
        n=number("tile_n"),
        k=number("k0") * k1 if "k0" in fields else number("tile_k"),
        k1=k1,
        mma_m=number("mma_m"),
        mma_n=number("mma_n"),
        repeat_m=number("repeat_m"),
        repeat_n=number("repeat_n"),
        vectors=(number("vector_size_a"), number("vector_size_b"), number("vector_size_c")),
    )


def _mma_k(block: _Block, name: str, single: bool, table: tuple[int, int], *, is_byte: bool) -> int:
    """Return K of the MMA tile: that of the line, at least one instruction's, at most the tile's."""
    wide = block.mma_m == 32
    if is_byte:
        return min(16 if wide else 32, block.k)
    if block.k1:
        least = (2, 4) if single else table
        return min(max(block.k1, least[0] if wide else least[1]), block.k)
    if single:
        return min(4 if wide and "_V3" not in name else 8, block.k)
    return min(table[0] if wide else table[1], block.k)


def _explicit_block(fields: Mapping[str, str]) -> _Block:
    def numbers(name: str) -> list[int]:
        return [int(part.strip("Seq()")) for part in fields[name].split("x")]

    m, n, k = numbers("tile")
    mma_m, mma_n = numbers("mma")
    repeat_m, repeat_n = numbers("repeat")
    a, b, c = numbers("vectors")
    return _Block(
        **{"size": int(fields["block_size"]), "m": m, "n": n, "k": k, "k1": min(numbers("k1_pair"))},
        **{"mma_m": mma_m, "mma_n": mma_n, "repeat_m": repeat_m, "repeat_n": repeat_n},
        vectors=(a, b, c),
    )


def _specialization(fields: Mapping[str, str], explicit: bool) -> str:
    if explicit:
        return "Filter1x1Stride1Pad0"
    # CK Tile has no counterpart of this one, its kernels test the divisibility themselves.
    return "Default" if fields["specialization"] == "OddC" else fields["specialization"]


def _pipeline(direction: str, fields: Mapping[str, str], *, direct_load: bool) -> tuple[str, str, bool]:
    """Return CK Builder's pipeline version, the scheduler, and whether LDS is double-buffered."""
    scheduler = fields.get("scheduler", "Intrawave")
    if direction == "bwd_data":
        # Its loop scheduler is no pipeline scheduler: Default stands for Intrawave.
        return "V1", "Intrawave" if scheduler == "Default" else scheduler, False
    version = fields.get("version", "v1")
    double = version == "v4"
    version = {"v5": "V6"}.get(version, version.upper())
    if direct_load:
        version = f"ASYNC_{version}"
        if version not in _PRINTED:
            raise RouteError(f"direct load exists for v1 and v4, got {fields['version']}", "version")
    return version, scheduler, double


def _true(fields: Mapping[str, str], name: str) -> bool:
    return FLAG_NORMAL[fields.get(name, "0")] == "1"


def _skip(direction: str, block: _Block, waves: tuple[int, int, int]) -> UnmetRequirement | None:
    """Return the rule by which CK Builder's generator leaves the kernel out; forward has none."""
    if direction == "fwd":
        return None
    a, b, c = block.vectors
    if any(width > 1 and width % 2 for width in (a, b, c)):
        return dropped_by(DropRule.IRREGULAR_VECTOR, f"one of the vector widths {a}, {b}, {c} is odd, not 1")
    first, axis = (block.k, "K") if direction == "bwd_data" else (block.m, "M")
    if first > LANES * a or block.n > LANES * b:
        return dropped_by(
            DropRule.ONE_WAVE_COVERAGE,
            f"one wave loads {LANES * a} along {axis} and {LANES * b} along N, "
            f"the tile has {first} and {block.n}",
        )
    if direction == "bwd_data":
        threads = LANES * waves[0] * waves[1] * waves[2]
        shares = block.m * block.k // threads, block.n * block.k // threads
        if a > shares[0] or b > shares[1]:
            return dropped_by(
                DropRule.THREAD_SHARE,
                f"vectors of {a} and {b} exceed a thread's share of {shares[0]} and {shares[1]}",
            )
    return None
