"""The lines of instances, and the properties that summaries count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.types import DataType
from ckprof_converters.annotations import annotation_of
from ckprof_plugins.extract.classes import StringWriter
from ckprof_plugins.extract.vocabulary import combined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof_plugins.extract.classes import DeviceClasses
    from ckprof_plugins.extract.readable import Instance

#: what the lists that upstream ships print for every pipeline; readers ignore it
FIXED_STAGES: Final = "2"
_STAGES: Final[Mapping[str, str]] = {"v1": "1", "v3": "2", "v4": "3", "v5": "3"}
_WAVE_SIZE: Final = 64
#: bytes that the memory pipeline wants in flight for each compute unit
_BYTES_IN_FLIGHT: Final = 32768


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One instance as lists print it."""

    function: str
    device: str
    #: instance string
    text: str
    #: type string; empty where none is known
    type_text: str
    #: parameter -> value
    fields: Mapping[str, str]
    #: what each field of the instance string is
    field_names: tuple[str, ...]


def prefetch_stages(values: Mapping[str, str]) -> str:
    """Return how many tiles a block GEMM pipeline fetches ahead.

    The memory pipeline (v2) fetches as many as fill the bytes in flight, shared by the blocks that one
    compute unit runs at a time; the others have a constant each.

    :param values: the parameters of the GEMM class.
    :raises InputError: a pipeline version or a type that is not known.
    """
    pipeline = values["BlkGemmPipelineVer"]
    if pipeline in _STAGES:
        return _STAGES[pipeline]
    if pipeline != "v2":
        raise InputError(f"the prefetch stages of pipeline {pipeline} are not known; use --stages fixed")
    m, n, k, block = (int(values[name]) for name in ("MPerBlock", "NPerBlock", "KPerBlock", "BlockSize"))
    size = m * _size_of(values["ADataType"]) + n * _size_of(values["BDataType"])
    share = _BYTES_IN_FLIGHT // max(1, 4 * _WAVE_SIZE // block)
    return str(min(max(-(-share // (size * k)), 2), 8))


def _size_of(spelled: str) -> int:
    dtype = DataType.of_string(spelled)
    if dtype is None:
        raise InputError(f"the size of type {spelled} is not known; use --stages fixed")
    return dtype.properties.size_bytes


class LineWriter:
    """Writes instances of one library as lines.

    :param computed_stages: print the prefetch stages of explicit GEMM as they are, not as shipped lists do.
    """

    def __init__(self, classes: DeviceClasses, *, computed_stages: bool) -> None:
        self._classes = classes
        self._computed = computed_stages
        self._writers: dict[str, StringWriter] = {}

    def line(self, function: str, instance: Instance) -> Line:
        """Return the line of an instance.

        :raises InputError: no string of its class is known.
        """
        device = self._classes.get(instance.device)
        writer = self._writers.get(instance.device)
        if writer is None:
            writer = self._writers[instance.device] = StringWriter(device)
        values = dict(zip(device.names, instance.arguments, strict=True))
        extra = {}
        if "{stages}" in device.record.text:
            extra["stages"] = prefetch_stages(values) if self._computed else FIXED_STAGES
        opaque = [combined()[text] for text in instance.arguments if text in combined()]
        said = [combined()[text].printed if text in combined() else text for text in instance.arguments]
        remark = annotation_of({"elementwise_op": opaque[-1].operation}) if opaque else ""
        text = writer.instance_string(said, extra) + remark
        return Line(
            function=function,
            device=instance.device,
            text=text,
            type_text=writer.type_string(said, extra),
            fields={**values, **extra},
            field_names=writer.field_names,
        )
