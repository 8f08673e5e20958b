"""One GEMM instance given by ``--instance-spec``: its tile and whatever else it does not have by default."""

from __future__ import annotations

import argparse
import json
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError, UsageError
from ckprof.model.types import ComputeType, DataType
from ckprof.sanitize import unknown_name
from ckprof_plugins.directions._convolution.layout import LAYOUTS
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.pipelines.kernel_name import DEFAULT_VECTOR_SIZES
from ckprof_plugins.pipelines.vocabulary import (
    GEMM_PIPELINE_ALIASES,
    ChannelPadding,
    Epilogue,
    GemmPipeline,
    Scheduler,
    SmemBuffering,
    Specialization,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from enum import Enum

    from ckprof.model.instance import Instance
    from ckprof_plugins.pipelines.gemm_instance import GemmInstance

OPTION: Final = "--instance-spec"
_LAYOUTS: Final = {layout.ndim: layout for layout in LAYOUTS if layout.input.endswith("GC")}
_STRATEGIES: Final = ("tree", "linear")
_TRUTH: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
#: operation whose kernels have other fields
_PRODUCTS: Final = "gemm"


def _numbers(key: str, text: str, separator: str) -> tuple[int, int, int]:
    parts = text.split(separator)
    if len(parts) != 3 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        example = separator.join(("128", "128", "64"))
        raise UsageError(f"{OPTION} {key}={text}: expected three positive numbers such as {example}")
    return int(parts[0]), int(parts[1]), int(parts[2])


def _extent(key: str, text: str) -> Any:
    from ckprof_plugins.pipelines.gemm_instance import Extent

    m, n, k = _numbers(key, text, "x")
    return Extent(m=m, n=n, k=k)


def _vectors(key: str, text: str) -> tuple[int, int, int]:
    return _numbers(key, text, ",")


def _number(key: str, text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"{OPTION} {key}={text}: expected a number")
    return int(text)


def _truth(key: str, text: str) -> bool:
    if text.lower() not in _TRUTH:
        raise UsageError(f"{OPTION} {key}={text}: expected true or false")
    return _TRUTH[text.lower()]


def _member(kind: type[Enum], aliases: Mapping[str, Any] | None = None) -> Callable[[str, str], Any]:
    members = {**{str(member.value): member for member in kind}, **(aliases or {})}

    def read(key: str, text: str) -> Any:
        if text not in members:
            raise UsageError(unknown_name(key.replace("_", " ").replace("gemm", "GEMM"), text, members))
        return members[text]

    return read


def _strategy(_: str, text: str) -> str:
    if text not in _STRATEGIES:
        raise UsageError(unknown_name("stream-K strategy", text, _STRATEGIES))
    return text


#: keys that must be given
_REQUIRED: Final = ("tile", "waves", "mma", "gemm_pipeline")
#: key -> what reads its value, in the order in which keys are named to users
KEYS: Final[Mapping[str, Callable[[str, str], Any]]] = {
    "tile": _extent,
    "waves": _extent,
    "mma": _extent,
    "gemm_pipeline": _member(GemmPipeline, GEMM_PIPELINE_ALIASES),
    "vectors": _vectors,
    "scheduler": _member(Scheduler),
    "epilogue": _member(Epilogue),
    "specialization": _member(Specialization),
    "compute_type": _member(ComputeType),
    "elementwise_op": lambda _, text: ElementwiseOp.parse(text),
    "d_layouts": lambda _, text: text,
    "dtype_b": lambda _, text: DataType.parse(text),
    "dtype_result": lambda _, text: DataType.parse(text),
    "d_dtypes": lambda _, text: text,
    "merge_groups": _number,
    "wave_groups": _number,
    "stream_k": _strategy,
    "persistent": _truth,
    "two_stage": _truth,
    "double_smem_buffer": _truth,
    "explicit_gemm": _truth,
    "split_image": _truth,
    "fold_stride": _truth,
    "channel_padding": _member(ChannelPadding),
    **{f"pad_{axis}": _truth for axis in "mnk"},
}
#: upstream's name of a key -> the key
_ALIASES: Final = {"pipeline": "gemm_pipeline"}
#: key -> the field of instances, where its name is another
_FIELDS: Final = {
    "waves": "wave_grid",
    "mma": "mma_tile",
    "merge_groups": "num_groups_to_merge",
    "wave_groups": "num_wave_groups",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the option that describes one instance."""
    group = parser.add_argument_group(
        "one GEMM instance", "one kernel per direction, --ndim and --dtype (default: 2D, fp16)"
    )
    further = [key for key in KEYS if key not in _REQUIRED]
    group.add_argument(
        OPTION,
        action="append",
        metavar="KEY=VALUE,...",
        help="the instance: tile=128x128x64,waves=2x2x1,mma=32x32x16,gemm_pipeline=compv4, and what it has "
        f"not by default ({', '.join(further)}); or a JSON file with these keys (repeatable: later values "
        "replace earlier ones)",
    )
    flags = [key for key, read in KEYS.items() if read is _truth]
    values = [key for key in KEYS if key not in flags]
    spelled = [*(_former(key) for key in flags), *(_former(f"no_{key}") for key in flags)]
    former: dict[str, Any] = {"dest": "former_instance_options", "help": argparse.SUPPRESS}
    group.add_argument(*spelled, nargs=0, action=_FormerOption, **former)
    group.add_argument(*map(_former, values), action=_FormerOption, **former)


def _former(key: str) -> str:
    return f"--{key.replace('_', '-')}"


class _FormerOption(argparse.Action):
    """Collects options of which each was one key, as the present option has them."""

    def __call__(
        self,
        _: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option: str | None = None,
    ) -> None:
        key = str(option).removeprefix("--").replace("-", "_")
        if self.nargs == 0:
            said = f"{key.removeprefix('no_')}={str(not key.startswith('no_')).lower()}"
        else:
            said = f"{key}={values}"
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest, None) or ()), said])


def instances_from_spec(
    arguments: Mapping[str, object],
    directions: tuple[str, ...],
    ndims: tuple[int, ...],
    dtypes: tuple[DataType, ...],
) -> list[Instance] | None:
    """Return the instance that is described, for each direction, number of dimensions and type.

    :param arguments: ``instance_spec``: one description or several, each a text or a mapping.
    :returns: ``None`` if none is described.
    :raises UsageError: a value is missing, wrong, or contradicts another one.
    :raises InputError: a file cannot be read.
    """
    former: Any = arguments.get("former_instance_options")
    if former:
        name = _former(former[0].partition("=")[0])
        raise UsageError(f"{name} is a key of {OPTION} now: type {OPTION} {','.join(former)}")
    described: Any = arguments.get("instance_spec")
    if not described:
        return None
    texts: dict[str, str] = {}
    for part in [described] if isinstance(described, (str, dict)) else described:
        texts |= _texts(part)
    for key in texts:
        if key not in KEYS:
            raise UsageError(unknown_name(f"key of {OPTION}", key, [*KEYS, *_ALIASES]))
    missing = [key for key in _REQUIRED if key not in texts]
    if missing:
        raise UsageError(f"{OPTION} lacks {', '.join(missing)}")
    if not directions:
        raise UsageError("an instance given by its tile needs its direction: name it with --direction")
    if _PRODUCTS in directions:
        raise UsageError(
            f"{OPTION} describes a kernel of a convolution; name those of {_PRODUCTS} with "
            "--conf LIST (old strings, or a catalog) or --rule-set ID"
        )
    try:
        given = {key: KEYS[key](key, text) for key, text in texts.items()}
        _check_contradictions(given)
        return [
            _instance(given, id=number, direction=direction, ndim=ndim, layout=_LAYOUTS[ndim], dtype=dtype)
            for number, (direction, ndim, dtype) in enumerate(product(directions, ndims, dtypes))
        ]
    except InputError as error:
        raise UsageError(error.message) from None


def _texts(described: str | Mapping[str, object]) -> dict[str, str]:
    """Return key -> text of one description: a text, the name of a file, or what such a file holds."""
    if not isinstance(described, str):
        values: dict[str, str] = {}
        for key, value in described.items():
            values[_new_key(str(key), values)] = _text(value)
        return values
    if "=" not in described or described.endswith(".json"):
        path = Path(described)
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"cannot read: {error.strerror}", path) from None
        except ValueError as error:
            raise InputError(f"not valid JSON: {error}", path) from None
        if not isinstance(document, dict):
            raise InputError("expected one object with the keys of an instance", path)
        return _texts(document)
    texts: dict[str, str] = {}
    key = ""
    for part in described.split(","):
        name, equals, value = part.partition("=")
        if equals:
            key = _new_key(name.strip(), texts)
            texts[key] = value.strip()
        elif key:
            # a value of several parts has commas itself
            texts[key] += f",{part.strip()}"
        else:
            raise UsageError(f"{OPTION} {described}: expected KEY=VALUE, got {part!r}")
    return texts


def _new_key(name: str, texts: Mapping[str, str]) -> str:
    """Return the key that a name means.

    :raises UsageError: the same description has it already.
    """
    key = name.replace("-", "_")
    key = _ALIASES.get(key, key)
    if key in texts:
        raise UsageError(f"{OPTION}: {key} is given twice, first as {texts[key]!r}: name it once")
    return key


def _text(value: object) -> str:
    """Return a value of a JSON document as it is typed."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_contradictions(given: Mapping[str, Any]) -> None:
    if given.get("persistent") and "stream_k" not in given:
        raise UsageError("persistent goes with stream_k only")
    for key in ("d_layouts", "d_dtypes"):
        if key in given and "elementwise_op" not in given:
            raise UsageError(f"{key} goes with elementwise_op only")
    if given.get("two_stage") and "stream_k" in given:
        raise UsageError(
            "stream_k and two_stage contradict each other: a stream-K kernel adds up its tiles itself"
        )


def _instance(given: Mapping[str, Any], **kind: Any) -> GemmInstance:
    """Return the instance of a direction, number of dimensions and type."""
    from ckprof_plugins.pipelines.family import result_of
    from ckprof_plugins.pipelines.gemm_families import (
        ImplicitGemmInstance,
        ReductionStrategy,
        StreamKInstance,
        TwoStageInstance,
    )
    from ckprof_plugins.pipelines.gemm_instance import usual_d_layouts

    a, b, c = given.get("vectors", DEFAULT_VECTOR_SIZES)
    properties = given["gemm_pipeline"].properties
    fields: dict[str, Any] = {
        "vector_size_a": a,
        "vector_size_b": b,
        "vector_size_c": c,
        "scheduler": Scheduler.INTRAWAVE,
        "epilogue": properties.usual_epilogue,
        "specialization": Specialization.DEFAULT,
        "double_smem_buffer": properties.buffering is SmemBuffering.DOUBLE,
        "num_groups_to_merge": 1,
        "num_wave_groups": 1,
        "explicit_gemm": False,
        "split_image": False,
        "pad_m": True,
        "pad_n": True,
        "pad_k": True,
        **kind,
    }
    apart = ("vectors", "stream_k", "persistent", "two_stage", "fold_stride")
    fields |= {_FIELDS.get(key, key): value for key, value in given.items() if key not in apart}
    fields["fold_stride"] = given.get("fold_stride") or None
    operation = given.get("elementwise_op")
    if operation is not None:
        usual = usual_d_layouts(operation, kind["layout"], result_of(kind["direction"]))
        fields["d_layouts"] = given.get("d_layouts") or usual
    if "stream_k" in given:
        strategy = ReductionStrategy(given["stream_k"].upper())
        return StreamKInstance(**fields, strategy=strategy, persistent=given.get("persistent", False))
    return (TwoStageInstance if given.get("two_stage") else ImplicitGemmInstance)(**fields)
