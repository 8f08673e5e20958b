"""Kernels of lists, by what the installed library calls them: the type strings of device operations.

Lines of lists are instance strings, which have all template arguments, or type strings, which have some. Of a
line of the first kind the second is computed by the class table of the extractor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.model.strings.line_arguments import split_arguments
from ckprof_plugins.extract.classes import ClassRecord, DeviceClass, StringWriter, class_records

if TYPE_CHECKING:
    from ckprof.plugin.protocols import KernelList

#: part of a class name -> direction of its kernels
_DIRECTIONS: Final = {"ConvFwd": "fwd", "ConvBwdData": "bwd_data", "ConvBwdWeight": "bwd_weight"}
#: second word of a layout's name -> dimensions
_DIMENSIONS: Final = {"nhwgc": 2, "ndhwgc": 3, "ngchw": 2, "ngcdhw": 3}
_BRACES: Final = re.compile(r"\{([^}]*)\}")
_FILE: Final = re.compile(r"(?P<layout>n[a-z]+)_(?P<dtype>[a-z]+\d+)")
#: the short text of batched products that compute weight gradients; installed releases up to 7.2.4 print it
#: without what is optional here
EXPLICIT: Final = "DeviceGroupedConvBwdWeight_Explicit_Xdl"
_EXPLICIT: Final = re.compile(
    rf"{EXPLICIT}<DeviceBatchedGemmXdlUniversal<(?P<GemmSpec>\w+), (?P<letters>[RC]{{3}})> "
    r"BlkSize: (?P<BlockSize>\d+), BlkTile: (?P<MPerBlock>\d+)x(?P<NPerBlock>\d+)x(?P<KPerBlock>\d+), "
    r"WaveTile: (?P<MPerXDL>\d+)x(?P<NPerXDL>\d+), (?P<k1>K1: (?P<AK1>\d+)x(?P<BK1>\d+), )?"
    r"WaveMap: (?P<MXdlPerWave>\d+)x(?P<NXdlPerWave>\d+), "
    r"VmemReadVec: (?P<ABlockTransferSrcScalarPerVector>\d+)x(?P<BBlockTransferSrcScalarPerVector>\d+)"
    r"(?P<third>xSeq\((?P<CVectors>[\d,]+)\))?, BlkGemmPipelineScheduler: (?P<BlkGemmPipeSched>\w+), "
    r"BlkGemmPipelineVersion: (?P<BlkGemmPipelineVer>v\d), BlkGemmPipelinePrefetchStages: (?P<stages>\d+)>"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OldKernel:
    """One kernel of the old library."""

    #: what ``GetTypeString`` returns: the forms that releases print
    names: tuple[str, ...]
    #: name of the class
    kind: str
    #: template parameter -> its value as text; without what the line does not say
    values: Mapping[str, str] = field(hash=False)
    #: the line, and where it stands
    line: str
    source: str
    #: true where the line has all parameters
    complete: bool

    @property
    def specialization(self) -> str:
        """What the kernel demands of the convolution."""
        return next(
            (text for name, text in self.values.items() if name.endswith("Specialization")), "Default"
        )


#: direction, number of dimensions, data type
Family = tuple[str, int, str]


class KernelIndex:
    """The kernels of some lists by family and name."""

    def __init__(self, lists: Iterable[KernelList]) -> None:
        self._families: dict[Family, dict[str, list[OldKernel]]] = {}
        for one in lists:
            for number, text in one.lines:
                for family, kernel in kernels_of(text, one.path, number):
                    self._add(family, kernel)

    def _add(self, family: Family, kernel: OldKernel) -> None:
        names = self._families.setdefault(family, {})
        for name in kernel.names:
            known = names.setdefault(name, [])
            if kernel.complete:
                # the same kernel, of a list of type strings
                known[:] = [other for other in known if other.complete]
                if all(other.line != kernel.line for other in known):
                    known.append(kernel)
            elif not known:
                known.append(kernel)

    def __bool__(self) -> bool:
        return bool(self._families)

    @property
    def families(self) -> tuple[Family, ...]:
        """The families that lists have kernels of, in their order."""
        return tuple(self._families)

    def has(self, family: Family) -> bool:
        """Say whether a list has kernels of a family."""
        return family in self._families

    def find(self, family: Family, name: str) -> Sequence[OldKernel]:
        """Return the kernels of a name in the order of their lists; the library takes the first."""
        return self._families.get(family, {}).get(name, ())

    def all_of(self, family: Family) -> Iterator[OldKernel]:
        """Yield every kernel of a family once."""
        seen: set[int] = set()
        for kernels in self._families.get(family, {}).values():
            for kernel in kernels:
                if id(kernel) not in seen:
                    seen.add(id(kernel))
                    yield kernel

    def elsewhere(self, name: str) -> list[Family]:
        """Return the families that have a kernel of a name."""
        return [family for family, names in self._families.items() if name in names]


@lru_cache(maxsize=4)
def index_of(lists: tuple[KernelList, ...]) -> KernelIndex:
    """Return the index of some lists; it is kept, for files that are judged by the same lists."""
    return KernelIndex(lists)


def kernels_of(text: str, path: Path | str, number: int) -> list[tuple[Family, OldKernel]]:
    """Return the kernel of a line, once per family that it can be of; empty where it is none of the library.

    :param path: says layout and type of type strings, as in ``nhwgc_fp16.conf``.
    """
    source = f"{path}:{number}"
    explicit = _EXPLICIT.fullmatch(text.strip())
    if explicit is not None:
        kernel = _explicit_kernel(explicit, source)
        return [(family, kernel) for family in _of_file("bwd_weight", path)]
    name, _, rest = text.strip().partition("<")
    direction = next((id_ for part, id_ in _DIRECTIONS.items() if part in name), "")
    if not direction or not rest.endswith(">"):
        return []
    arguments = [item.text for item in split_arguments(rest, 0, len(rest) - 1)]
    for kind, record in class_records().items():
        writer = _writer(kind)
        if writer is None:
            continue
        if name == (record.name or kind) and len(arguments) in (len(record.fields), len(record.fields) + 1):
            values = dict(zip(map(_parameter, record.fields), arguments, strict=False))
            types = [value for key, value in values.items() if key.endswith("DataType") and "Ds" not in key]
            kernel = OldKernel(
                names=(writer.type_string([values[key] for key in _names(kind)], {}),),
                kind=kind,
                values=values,
                line=text.strip(),
                source=source,
                complete=True,
            )
            ndim = values.get("NDimSpatial", "")
            return [((direction, int(ndim), types[0]), kernel)] if ndim.isdigit() and types else []
    return _of_type_string(text.strip(), name, arguments, direction, path, source)


def _of_type_string(
    text: str, name: str, arguments: Sequence[str], direction: str, path: Path | str, source: str
) -> list[tuple[Family, OldKernel]]:
    for kind, record in class_records().items():
        suffixes = [suffix for suffix in ("", *record.type_suffix.values()) if name == kind + suffix]
        if suffixes and len(arguments) == len(record.type_string):
            values = dict(zip(map(_parameter, record.type_string), arguments, strict=True))
            values = {key: value.rpartition(" ")[2] for key, value in values.items()}
            if suffixes[0]:
                values["DirectLoad"] = "true"
            kernel = OldKernel(
                names=(text,), kind=kind, values=values, line=text, source=source, complete=False
            )
            return [(family, kernel) for family in _of_file(direction, path)]
    return []


def _explicit_kernel(found: re.Match[str], source: str) -> OldKernel:
    text = found.group()
    short = text.replace(found["k1"] or "\0", "").replace(found["third"] or "\0", "")
    values = {key: value for key, value in found.groupdict().items() if value is not None}
    return OldKernel(
        names=tuple(dict.fromkeys((text, short))),
        kind=EXPLICIT,
        values=values,
        line=text,
        source=source,
        complete=found["third"] is not None,
    )


def _of_file(direction: str, path: Path | str) -> Iterator[Family]:
    """Yield the families that lines without layout and type can be of: what the name of the list says."""
    found = _FILE.match(Path(path).name)
    if found is not None and found["layout"] in _DIMENSIONS:
        yield direction, _DIMENSIONS[found["layout"]], found["dtype"]


def _parameter(entry: str) -> str:
    """Return the parameter that an entry of the class table prints."""
    inner = _BRACES.search(entry)
    return re.split("[:|]", inner[1] if inner else entry)[0]


@cache
def _names(kind: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_parameter, class_records()[kind].fields)))


@cache
def _writer(kind: str) -> StringWriter | None:
    """Return what writes the type strings of a class; ``None`` for one that has none."""
    record: ClassRecord = class_records()[kind]
    if not record.type_string or not record.fields:
        return None
    return StringWriter(
        DeviceClass(name=kind, record=record, parameters=(), names=_names(kind), conditions=0)
    )
