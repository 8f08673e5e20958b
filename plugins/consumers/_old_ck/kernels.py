"""Kernels of lists, by what the installed library calls them: the type strings of device operations.

Lines of lists are instance strings, which have all template arguments, or type strings, which have some. Of a
line of the first kind the second is computed by the class table of the extractor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from math import ceil, prod
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.model.strings.grammar import split_arguments
from ckprof_plugins.extract.classes import class_records, string_writer
from ckprof_plugins.pipelines.vocabulary import mem_prefetch_stages

if TYPE_CHECKING:
    from ckprof_plugins.consumers.records import KernelList
    from ckprof_plugins.directions._convolution.problem import ConvProblem


#: part of a class name -> direction of its kernels
DIRECTIONS: Final = {"ConvFwd": "fwd", "ConvBwdData": "bwd_data", "ConvBwdWeight": "bwd_weight"}
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
        #: names with one argument left out -> the name, and the place of the argument
        self._masked: dict[Family, dict[tuple[str, ...], tuple[str, int]]] = {}
        #: name of a class -> most arguments that a name of a kernel has
        self._forms: dict[str, int] = {}
        for one in lists:
            for number, text in one.lines:
                for family, kernel in kernels_of(text, one.path, number):
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

    @property
    def families(self) -> tuple[Family, ...]:
        """The families that lists have kernels of, in their order."""
        return tuple(self._families)

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

    def difference(self, family: Family, name: str) -> str:
        """Say in which argument a name differs from that of a kernel; empty if it does in more or in none."""
        if family not in self._masked:
            self._masked[family] = {
                masked: (known, place)
                for known in self._families.get(family, {})
                for place, masked in enumerate(_masked(known))
            }
        for place, masked in enumerate(_masked(name)):
            known, other_place = self._masked[family].get(masked, ("", -1))
            if other_place == place:
                kernel = self.find(family, known)[0]
                given, expected = (_arguments(one)[1][place] for one in (name, known))
                record = class_records().get(kernel.kind)
                parameters = list(map(_parameter, record.type_string)) if record else []
                label = f"{parameters[place]} = " if place < len(parameters) else ""
                return (
                    f"argument {place + 1} differs from {kernel.source}: {label}{given}, expected {expected}"
                )
        return ""

    def has_other_form(self, name: str) -> bool:
        """Say whether a name is of a class, or has more arguments, than any kernel of the lists."""
        if not self._forms:
            for names in self._families.values():
                for known in names:
                    head, arguments = _arguments(known)
                    self._forms[head] = max(len(arguments), self._forms.get(head, 0))
        head, arguments = _arguments(name)
        return _CLASS.fullmatch(head) is not None and len(arguments) > self._forms.get(head, 0)

    def elsewhere(self, name: str) -> list[Family]:
        """Return the families that have a kernel of a name."""
        return [family for family, names in self._families.items() if name in names]


_CLASS: Final = re.compile(r"DeviceGroupedConv(?:Fwd|BwdData|BwdWeight)\w*")


def _arguments(name: str) -> tuple[str, list[str]]:
    """Return the class and the arguments of a name; no arguments where it is not closed."""
    head, _, rest = name.partition("<")
    is_closed = rest.endswith(">") and rest.count("<") == rest.count(">") - 1
    return head, rest[:-1].split(", ") if is_closed else []


def _masked(name: str) -> Iterator[tuple[str, ...]]:
    """Yield class and arguments of a name, each time without another argument."""
    head, arguments = _arguments(name)
    for place in range(len(arguments)):
        yield head, *arguments[:place], "", *arguments[place + 1 :]


@lru_cache(maxsize=4)
def index_of(lists: tuple[KernelList, ...]) -> KernelIndex:
    """Return the index of some lists; it is kept, for files that are judged by the same lists."""
    return KernelIndex(lists)


def kernels_of(text: str, path: Path | str, number: int) -> list[tuple[Family, OldKernel]]:
    """Return the kernel of a line, once per family that it can be of; empty where it is none of the library.

    :param path: says layout and type of type strings, as in ``nhwgc_fp16.conf``.
    """
    text = text.strip()
    kernel_of = partial(OldKernel, line=text, source=f"{path}:{number}")
    explicit = _EXPLICIT.fullmatch(text)
    if explicit is not None:
        short = text.replace(explicit["k1"] or "\0", "").replace(explicit["third"] or "\0", "")
        kernel = kernel_of(
            names=tuple(dict.fromkeys((text, short))),
            kind=EXPLICIT,
            values={key: value for key, value in explicit.groupdict().items() if value is not None},
            complete=explicit["third"] is not None,
        )
        return [(family, kernel) for family in _of_file("bwd_weight", path)]
    name, _, rest = text.partition("<")
    direction = next((id_ for part, id_ in DIRECTIONS.items() if part in name), "")
    if not direction or not rest.endswith(">"):
        return []
    arguments = [item.text for item in split_arguments(rest, 0, len(rest) - 1)]
    for kind, record in class_records().items():
        count = len(record.fields) if record.type_string else 0
        if count and name == (record.name or kind) and len(arguments) in (count, count + 1):
            values = dict(zip(map(_parameter, record.fields), arguments, strict=False))
            types = [value for key, value in values.items() if key.endswith("DataType") and "Ds" not in key]
            printed = string_writer(kind).type_string(values)
            kernel = kernel_of(names=(printed,), kind=kind, values=values, complete=True)
            ndim = values.get("NDimSpatial", "")
            return [((direction, int(ndim), types[0]), kernel)] if ndim.isdigit() and types else []
    for kind, record in class_records().items():
        suffixes = [suffix for suffix in ("", *record.type_suffix.values()) if name == kind + suffix]
        if suffixes and len(arguments) == len(record.type_string):
            parameters = map(_parameter, record.type_string)
            values = {key: value.rpartition(" ")[2] for key, value in zip(parameters, arguments, strict=True)}
            if suffixes[0]:
                values["DirectLoad"] = "true"
            kernel = kernel_of(names=(text,), kind=kind, values=values, complete=False)
            return [(family, kernel) for family in _of_file(direction, path)]
    return []


def _of_file(direction: str, path: Path | str) -> Iterator[Family]:
    """Yield the families that lines without layout and type can be of: what the name of the list says."""
    found = _FILE.match(Path(path).name)
    if found is not None and found["layout"] in _DIMENSIONS:
        yield direction, _DIMENSIONS[found["layout"]], found["dtype"]


@cache
def _parameter(entry: str) -> str:
    """Return the parameter that an entry of the class table prints."""
    inner = _BRACES.search(entry)
    return re.split("[:|]", inner[1] if inner else entry)[0]


#: bytes of an element
SIZES: Final[Mapping[str, int]] = {"fp16": 2, "bf16": 2, "fp32": 4, "s8": 1, "fp64": 8}
#: largest tensor that kernels can address
LIMIT: Final = 1 << 31
#: architectures that add bf16 values in memory
_BF16_ATOMICS: Final = ("gfx942", "gfx950", "gfx12")
#: stages of prefetching of pipelines that always have the same number
_STAGES: Final = {"v1": 1, "v3": 2, "v4": 3, "v5": 3}
#: of tensors that no kernel of a direction can address
TOO_LARGE: Final = "is larger than 2 GiB"
#: automatic number of splits
AUTOMATIC: Final = -1


@dataclass(slots=True)
class Case:
    """One kernel and one problem, and whether it supports it."""

    kernel: OldKernel
    problem: ConvProblem
    dtype: str
    splits: int
    arch: str
    #: the condition that is not met; empty if all are
    unmet: str = ""
    #: true where some conditions could not be judged
    partial: bool = False

    def number(self, *names: str) -> int | None:
        """Return a parameter by any of its names; ``None``, noted, where the line does not say it."""
        for name in names:
            if self.kernel.values.get(name, "").isdigit():
                return int(self.kernel.values[name])
        self.partial = True
        return None

    def divides(self, channels: str, what: str, name: str) -> str:
        """Return the condition that a vector divides the channels, K or C, if it is not met."""
        count = self.problem.out_channels if channels == "K" else self.problem.in_channels
        width = self.number(name)
        if width and count % width:
            return f"{what} by vectors of {width}, which do not divide {channels} = {count} per group"
        return ""


def known_arch(case: Case) -> str:
    if case.kernel.values.get("DirectLoad") in ("true", "1") and case.arch and case.arch != "gfx950":
        return f"direct loads need gfx950, not {case.arch}"
    if case.arch and not case.arch.startswith("gfx9"):
        return f"matrix instructions of the XDL kind are not known on {case.arch}"
    return ""


def meets_specialization(case: Case, wanted: str = "") -> str:
    """Return what a kernel demands that the problem is not, or what some other kernels do."""
    problem, wanted = case.problem, wanted or case.kernel.specialization
    pads = any(problem.left_pads) or any(problem.right_pads)
    if wanted in ("Filter1x1Pad0", "Filter1x1Stride1Pad0"):
        if set(problem.filter) != {1}:
            return f"{wanted} needs a filter of 1"
        if pads:
            return f"{wanted} needs pads of 0"
    if wanted == "Filter1x1Stride1Pad0" and set(problem.strides) != {1}:
        return f"{wanted} needs strides of 1"
    if wanted == "Filter3x3":
        if problem.in_channels != 1:
            return f"Filter3x3 needs one input channel per group, not {problem.in_channels}"
        if set(problem.filter) != {3}:
            return "Filter3x3 needs a filter of 3"
    return ""


def merged_groups(case: Case) -> int:
    """Return how many groups a tile of the kernel holds."""
    text = case.kernel.values.get("NumGroupsToMerge", "1")
    return int(text) if text.isdigit() else 1


def enough_steps(case: Case, length: int, splits: int, what: str) -> str:
    """Return what is wrong with the number of steps along the reduction, for pipelines that prefetch."""
    version = case.kernel.values.get("BlkGemmPipelineVer", "")
    step = case.number("KPerBlock", "K0PerBlock")
    if not version or version == "v1" or step is None:
        return ""
    steps = ceil(length / (step * splits))
    stages = _stages(case, version)
    if stages is not None and steps <= stages:
        return (
            f"pipeline {version} prefetches {stages} steps of {step} and needs more than that: "
            f"{what} = {length}" + (f" in {splits} splits" if splits > 1 else "") + f" has {steps}"
        )
    return ""


def _stages(case: Case, version: str) -> int | None:
    """Return the steps that a pipeline reads ahead; of ``v2`` so many that the memory is kept busy."""
    if case.kernel.values.get("stages", "").isdigit():
        return int(case.kernel.values["stages"])
    if version == "v4" and case.kernel.values.get("DirectLoad") in ("true", "1"):
        return 2
    if version != "v2":
        return _STAGES.get(version)
    block, m, n = (case.number(name) for name in ("BlockSize", "MPerBlock", "NPerBlock"))
    k = case.number("KPerBlock", "K0PerBlock")
    if block is None or m is None or n is None or k is None:
        return None
    return mem_prefetch_stages((m + n) * SIZES.get(case.dtype, 4) * k, block)


def has_atomics(case: Case) -> str:
    if case.dtype == "bf16" and case.arch and not case.arch.startswith(_BF16_ATOMICS):
        return f"{case.arch} cannot add bf16 values in memory"
    return ""


def too_large(case: Case, batch: int) -> str:
    """Return which tensor of so many images kernels cannot address; empty if they can address both."""
    problem, size = case.problem, SIZES.get(case.dtype, 4)
    tensors = {
        "input": problem.in_channels * prod(problem.input),
        "output": problem.out_channels * prod(problem.output),
    }
    large = (name for name, count in tensors.items() if batch * problem.groups * count * size > LIMIT)
    return next(large, "")


def addressable(case: Case) -> str:
    name = too_large(case, case.problem.batch)
    return f"the {name} {TOO_LARGE}" if name else ""
