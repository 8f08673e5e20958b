"""One GEMM instance given by options of the command line."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError, UsageError
from ckprof.model.types import ComputeType, DataType
from ckprof.plain_text import unknown_name
from ckprof_plugins.directions._convolution.layout import LAYOUTS
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.pipelines._gemm.d_layouts import CHANNEL_LAYOUTS, usual_d_layouts
from ckprof_plugins.pipelines._gemm.kernel_name import DEFAULT_VECTOR_SIZES
from ckprof_plugins.pipelines._gemm.vocabulary import (
    GEMM_PIPELINE_ALIASES,
    Epilogue,
    GemmPipeline,
    Scheduler,
    SmemBuffering,
    Specialization,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from enum import Enum

    from ckprof.model.instance import Instance
    from ckprof_plugins.pipelines._gemm.instance import GemmInstance

_LAYOUTS: Final = {layout.ndim: layout for layout in LAYOUTS if layout.input.endswith("GC")}
_STRATEGIES: Final = ("tree", "linear")
#: operation whose kernels have other fields
_PRODUCTS: Final = "gemm"

#: attributes of options that must be given, and of those that may be
_REQUIRED: Final = ("tile", "waves", "mma", "gemm_pipeline")
_OPTIONAL: Final = (
    *("vectors", "scheduler", "epilogue", "specialization", "double_smem_buffer", "merge_groups"),
    *("wave_groups", "explicit_gemm", "split_image", "two_stage", "stream_k", "persistent", "compute_type"),
    *("elementwise_op", "d_layouts", "dtype_b", "dtype_result", "d_dtypes"),
    *("pad_m", "pad_n", "pad_k", "fold_stride"),
)


def _option(attribute: str) -> str:
    return f"--{attribute.replace('_', '-')}"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of one instance."""
    import argparse

    group = parser.add_argument_group(
        "one GEMM instance by its tile", "one kernel per direction, --ndim and --dtype (default: 2D, fp16)"
    )
    group.add_argument("--tile", metavar="MxNxK", help="block tile, e.g. 128x128x64")
    group.add_argument("--waves", metavar="MxNxK", help="waves of a block along each axis, e.g. 2x2x1")
    group.add_argument("--mma", metavar="MxNxK", help="tile of one matrix instruction, e.g. 32x32x16")
    group.add_argument("--gemm-pipeline", metavar="NAME", help=_one_of(GemmPipeline))
    usual = ",".join(map(str, DEFAULT_VECTOR_SIZES))
    group.add_argument("--vectors", metavar="A,B,C", help=f"elements per access (default: {usual})")
    group.add_argument("--scheduler", metavar="NAME", help=f"{_one_of(Scheduler)} (default: intrawave)")
    group.add_argument(
        "--epilogue", metavar="NAME", help=f"{_one_of(Epilogue)}; a label only (default: cshuffle)"
    )
    group.add_argument(
        "--specialization", metavar="NAME", help=f"{_one_of(Specialization)} (default: default)"
    )
    group.add_argument(
        "--compute-type",
        metavar="NAME",
        help=f"{_one_of(ComputeType)}: round operands to it before they are multiplied (default: do not)",
    )
    group.add_argument(
        "--elementwise-op",
        metavar="NAME",
        help=f"{_one_of(ElementwiseOp)}: what is done with elements of the result or of operands (default: "
        "nothing)",
    )
    group.add_argument(
        "--d-layouts",
        metavar="LAYOUT,...",
        help="of the D tensors that it takes: that of the result, or "
        f"{' or '.join(sorted(CHANNEL_LAYOUTS.values()))} for an element per channel of it (default: as CK's "
        "factories have them)",
    )
    for option, text in (
        ("--dtype-b", "element type of the second operand"),
        ("--dtype-result", "element type of the result"),
        ("--d-dtypes", "element types of the D tensors, separated by commas"),
    ):
        group.add_argument(option, metavar="TYPE", help=f"{text} (default: the usual one of --dtype)")
    group.add_argument("--merge-groups", type=int, metavar="N", help="groups merged into one (default: 1)")
    group.add_argument("--wave-groups", type=int, metavar="N", help="groups of waves (default: 1)")
    group.add_argument("--stream-k", metavar="NAME", help=f"stream-K: {' or '.join(_STRATEGIES)}")
    for option, text in (
        ("--double-smem-buffer", "two buffers of local memory (default: as the GEMM pipeline needs)"),
        ("--explicit-gemm", "treat the convolution as a plain matrix product (default: no)"),
        ("--split-image", "split large images (default: no)"),
        ("--fold-stride", "see the stride along the last axis as channels (default: no)"),
        ("--two-stage", "sum in fp32, then convert (default: no)"),
        ("--persistent", "persistent workgroups of a stream-K kernel (default: no)"),
        *((f"--pad-{axis}", f"pad {axis} up to the tile (default: yes)") for axis in "mnk"),
    ):
        group.add_argument(option, action=argparse.BooleanOptionalAction, default=None, help=text)


def instances_from_cli(
    arguments: Mapping[str, object],
    directions: tuple[str, ...],
    ndims: tuple[int, ...],
    dtypes: tuple[DataType, ...],
) -> list[Instance] | None:
    """Return the instance that the options describe, for each direction, number of dimensions and type.

    :returns: ``None`` if none of the options is used.
    :raises UsageError: an option is missing, wrong, or contradicts another one.
    """
    given = {name: arguments[name] for name in (*_REQUIRED, *_OPTIONAL) if arguments.get(name) is not None}
    if not given:
        return None
    first = _option(next(iter(given)))
    missing = [_option(name) for name in _REQUIRED if name not in given]
    if missing:
        raise UsageError(f"{first} describes one instance, which needs {', '.join(missing)} too")
    if not directions:
        raise UsageError("an instance given by its tile needs its direction: name it with --direction")
    if _PRODUCTS in directions:
        raise UsageError(
            f"{first} describes a kernel of a convolution; name those of {_PRODUCTS} with "
            "--conf LIST (old strings, or a catalog) or --rule-set ID"
        )
    _check_contradictions(given)
    fields = _fields(given)
    kinds = product(directions, ndims, dtypes)
    return [
        _instance(
            given,
            {
                **fields,
                "id": number,
                "direction": direction,
                "ndim": ndim,
                "layout": _LAYOUTS[ndim],
                "dtype": dtype,
            },
        )
        for number, (direction, ndim, dtype) in enumerate(kinds)
    ]


def _check_contradictions(given: Mapping[str, Any]) -> None:
    if given.get("persistent") and "stream_k" not in given:
        raise UsageError("--persistent goes with --stream-k only")
    for name in ("d_layouts", "d_dtypes"):
        if name in given and "elementwise_op" not in given:
            raise UsageError(f"{_option(name)} goes with --elementwise-op only")
    if given.get("two_stage") and "stream_k" in given:
        raise UsageError(
            "--stream-k and --two-stage contradict each other: a stream-K kernel adds up its tiles itself"
        )


def _fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the instance that do not depend on the direction, dimensions and type."""
    from ckprof_plugins.pipelines._gemm.instance import Extent

    a, b, c = _numbers("--vectors", given["vectors"], ",") if "vectors" in given else DEFAULT_VECTOR_SIZES
    gemm_pipeline = _choice("GEMM pipeline", GemmPipeline, given["gemm_pipeline"], GEMM_PIPELINE_ALIASES)
    needs_two = gemm_pipeline.properties.buffering is SmemBuffering.DOUBLE
    fields: dict[str, Any] = {
        "vector_size_a": a,
        "vector_size_b": b,
        "vector_size_c": c,
        "gemm_pipeline": gemm_pipeline,
        "scheduler": _choice("scheduler", Scheduler, given.get("scheduler", Scheduler.INTRAWAVE.value)),
        "epilogue": _choice("epilogue", Epilogue, given.get("epilogue", Epilogue.CSHUFFLE.value)),
        "specialization": _choice(
            "specialization",
            Specialization,
            given.get("specialization", Specialization.DEFAULT.value),
        ),
        "double_smem_buffer": given.get("double_smem_buffer", needs_two),
        "num_groups_to_merge": given.get("merge_groups", 1),
        "num_wave_groups": given.get("wave_groups", 1),
        "explicit_gemm": given.get("explicit_gemm", False),
        "split_image": given.get("split_image", False),
        "fold_stride": given.get("fold_stride") or None,
    }
    if "compute_type" in given:
        fields["compute_type"] = _choice("compute type", ComputeType, given["compute_type"])
    for name in ("dtype_b", "dtype_result"):
        if name in given:
            fields[name] = DataType.parse(given[name])
    if "d_dtypes" in given:
        fields["d_dtypes"] = given["d_dtypes"]
    if "elementwise_op" in given:
        try:
            fields["elementwise_op"] = ElementwiseOp.parse(given["elementwise_op"])
        except InputError as error:
            raise UsageError(error.message) from None
    for axis in "mnk":
        fields[f"pad_{axis}"] = given.get(f"pad_{axis}", True)
    for name, given_as in (("tile", "tile"), ("wave_grid", "waves"), ("mma_tile", "mma")):
        m, n, k = _numbers(_option(given_as), given[given_as], "x")
        fields[name] = Extent(m=m, n=n, k=k)
    return fields


def _instance(given: Mapping[str, Any], fields: dict[str, Any]) -> GemmInstance:
    from ckprof_plugins.pipelines._base.base_pipeline import result_of
    from ckprof_plugins.pipelines.implicit_gemm.instance import ImplicitGemmInstance
    from ckprof_plugins.pipelines.stream_k.instance import ReductionStrategy, StreamKInstance
    from ckprof_plugins.pipelines.two_stage.instance import TwoStageInstance

    operation = fields.get("elementwise_op")
    if operation is not None:
        fields["d_layouts"] = given.get("d_layouts") or usual_d_layouts(
            operation, fields["layout"], result_of(fields["direction"])
        )
    try:
        if "stream_k" in given:
            strategy = given["stream_k"]
            if strategy not in _STRATEGIES:
                raise UsageError(unknown_name("stream-K strategy", strategy, _STRATEGIES))
            return StreamKInstance(
                **fields,
                strategy=ReductionStrategy(strategy.upper()),
                persistent=bool(given.get("persistent")),
            )
        if given.get("two_stage"):
            return TwoStageInstance(**fields)
        return ImplicitGemmInstance(**fields)
    except InputError as error:
        raise UsageError(error.message) from None


def _numbers(option: str, text: str, separator: str) -> tuple[int, int, int]:
    parts = text.split(separator)
    if len(parts) != 3 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        example = separator.join(("128", "128", "64"))
        raise UsageError(f"{option} {text}: expected three positive numbers such as {example}")
    return int(parts[0]), int(parts[1]), int(parts[2])


def _choice(what: str, kind: type[Enum], text: str, aliases: Mapping[str, Any] | None = None) -> Any:
    members = {**{member.value: member for member in kind}, **(aliases or {})}
    if text not in members:
        raise UsageError(unknown_name(what, text, members))
    return members[text]


def _one_of(kind: type[Enum]) -> str:
    return ", ".join(str(member.value) for member in kind)
