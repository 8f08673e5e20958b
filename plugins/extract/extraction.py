"""The lists of an installed library."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.types import DataType
from ckprof_converters.library_lists import ListKey, known_lists
from ckprof_converters.lines import annotation_of
from ckprof_plugins.extract.classes import StringWriter
from ckprof_plugins.extract.headers import combined
from ckprof_plugins.extract.uses import (
    Use,
    cover,
    extra_uses,
    in_order,
    is_left_out,
    source_place,
    uses_by_recipe,
)

if TYPE_CHECKING:
    from ckprof_plugins.extract.classes import DeviceClasses
    from ckprof_plugins.extract.library import InstalledLibrary
    from ckprof_plugins.extract.mangling import DeviceInstance


#: what the lists that upstream ships print for every pipeline; readers ignore it
FIXED_STAGES: Final = "2"
_STAGES: Final[Mapping[str, str]] = {"v1": "1", "v3": "2", "v4": "3", "v5": "3"}
_WAVE_SIZE: Final = 64
#: bytes that the memory pipeline wants in flight for each compute unit
_BYTES_IN_FLIGHT: Final = 32768


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedLine:
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


class DerivedLineWriter:
    """Writes instances of one library as lines.

    :param computed_stages: print the prefetch stages of explicit GEMM as they are, not as shipped lists do.
    """

    def __init__(self, classes: DeviceClasses, *, computed_stages: bool) -> None:
        self._classes = classes
        self._computed = computed_stages
        self._writers: dict[str, StringWriter] = {}

    def line(self, function: str, instance: DeviceInstance) -> DerivedLine:
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
        return DerivedLine(
            function=function,
            device=instance.device,
            text=text,
            type_text=writer.type_string(said, extra),
            fields={**values, **extra},
            field_names=writer.field_names,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractOptions:
    """What to extract, and how."""

    engine: str = "xdl"
    #: what the lists that upstream ships say of the library, in place of what it has
    shipped_selection: bool = False
    #: in the order of the factory's calls, in place of that of the source files
    factory_order: bool = False
    #: print the prefetch stages as they are
    computed_stages: bool = False


class FunctionStatus(Enum):
    """What became of a function."""

    #: compiled, with instances that the headers account for
    COMPILED = "compiled"
    #: known by its recipe alone
    RECIPE = "recipe"
    #: read from its source file
    SOURCE = "source"
    #: compiled, though it adds nothing
    EMPTY = "empty"
    #: declared, but not in the archive
    NOT_COMPILED = "not-compiled"
    #: no instance string of its class is known
    NO_STRING = "no-string"
    #: not in the lists that upstream ships
    LEFT_OUT = "left-out"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionResult:
    """One function of a list."""

    name: str
    status: FunctionStatus
    uses: tuple[Use, ...] = ()
    #: why it has no instances here
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedList:
    """One list of an installed library."""

    key: ListKey
    functions: tuple[FunctionResult, ...]
    lines: tuple[DerivedLine, ...]

    def pairs(self, set_name: str, every: int = 5) -> tuple[tuple[str, DerivedLine], ...]:
        """Return (text, instance) of one of the sets ``profiler``, ``tests`` and ``typestring``.

        :raises InputError: a class has no known type string.
        """
        if set_name == "tests":
            return tuple((line.text, line) for line in self.lines[every - 1 :: every])
        if set_name == "typestring":
            for line in self.lines:
                if not line.type_text:
                    raise InputError(f"{self.key}: no type string of {line.device} is known")
            return tuple((line.type_text, line) for line in self.lines)
        return tuple((line.text, line) for line in self.lines)

    def texts(self, set_name: str, every: int = 5) -> tuple[str, ...]:
        """Return the lines of a set.

        :raises InputError: a class has no known type string.
        """
        return tuple(text for text, _ in self.pairs(set_name, every))

    def counts(self) -> Mapping[str, int]:
        """Return what summaries show: functions, tuples, instances and kinds of instances."""
        texts = Counter(line.text for line in self.lines)
        return {
            "functions": sum(bool(item.uses) for item in self.functions),
            "tuples": sum(len(item.uses) for item in self.functions),
            "instances": len(self.lines),
            "duplicates": len(self.lines) - len(texts),
            "direct_load": sum(line.fields.get("DirectLoad") == "true" for line in self.lines),
            "merged": sum(line.fields.get("NumGroupsToMerge", "1") != "1" for line in self.lines),
            "large": sum("Large_Tensor" in line.device for line in self.lines),
            "two_stage": sum("TwoStage" in line.device for line in self.lines),
            "explicit": sum("_Explicit_" in line.text for line in self.lines),
        }

    def skipped(self) -> Mapping[str, int]:
        """Return how many functions gave nothing, by reason."""
        return Counter(
            item.status.value
            for item in self.functions
            if item.status not in (FunctionStatus.COMPILED, FunctionStatus.RECIPE, FunctionStatus.SOURCE)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """All lists that were asked for."""

    lists: tuple[DerivedList, ...]
    #: lists for which the library has no function
    absent: tuple[ListKey, ...] = ()
    #: lists that could not be derived, with the error of each
    failures: Mapping[ListKey, InputError] = field(default_factory=dict)


def extract(library: InstalledLibrary, keys: Sequence[ListKey], options: ExtractOptions) -> Extraction:
    """Derive lists from an installed library.

    An error concerns one list: the others are derived nevertheless.
    """
    lists = []
    absent = []
    failures: dict[ListKey, InputError] = {}
    writer = DerivedLineWriter(library.classes, computed_stages=options.computed_stages)
    for key in keys:
        try:
            calls = library.calls(key, options.engine)
            found = _extract_list(library, key, calls, options, writer) if calls else None
            if found is None:
                absent.append(key)
            else:
                lists.append(found)
        except InputError as exc:
            failures[key] = exc
    return Extraction(lists=tuple(lists), absent=tuple(absent), failures=failures)


def _extract_list(
    library: InstalledLibrary,
    key: ListKey,
    calls: Sequence[str],
    options: ExtractOptions,
    writer: DerivedLineWriter,
) -> DerivedList | None:
    """Return a list; ``None`` if none of its functions is compiled."""
    functions = []
    for name in calls:
        if options.shipped_selection and is_left_out(name):
            functions.append(
                FunctionResult(name=name, status=FunctionStatus.LEFT_OUT, reason="not in shipped lists")
            )
            continue
        result = _function(library, name, key)
        if options.shipped_selection:
            extra = extra_uses(name, result.uses)
            result = replace(result, uses=(*extra, *result.uses))
        functions.append(result)
    ordered = _in_order(functions, options, library)
    lines = tuple(writer.line(name, item) for name, use in ordered for item in use.instances)
    if all(item.status is FunctionStatus.NOT_COMPILED for item in functions):
        return None
    if not lines:
        reasons = Counter(item.reason for item in functions)
        raise InputError(f"{key}: no instance is left: {', '.join(sorted(reasons))}")
    return DerivedList(key=key, functions=tuple(functions), lines=lines)


def _function(library: InstalledLibrary, name: str, key: ListKey) -> FunctionResult:
    tuples = library.tuples(key.direction)
    if library.compiled is None:
        if key.fused:
            return _function_of_source(library, name, key)
        uses = uses_by_recipe(name, key, tuples)
        if uses is None:
            return _function_of_source(library, name, key)
        return FunctionResult(name=name, status=FunctionStatus.RECIPE, uses=uses)
    if library.compiled.member_of(name, key.shape.ndim) is None:
        if re.search(known_lists().optional, name):
            return FunctionResult(
                name=name, status=FunctionStatus.NOT_COMPILED, reason="declared but not compiled"
            )
        raise InputError(
            f"{name}: the factory calls it, but the archive does not define it; "
            "headers and archive must be of one release",
            library.compiled.path,
        )
    compiled = library.compiled_instances(name, key)
    if not compiled:
        return FunctionResult(name=name, status=FunctionStatus.EMPTY, reason="compiled, adds nothing")
    refused = {library.classes.get(item.device).record.refusal for item in compiled}
    if any(refused):
        return FunctionResult(name=name, status=FunctionStatus.NO_STRING, reason=max(refused))
    uses = joined_uses(library, name, key)
    return FunctionResult(name=name, status=FunctionStatus.COMPILED, uses=uses)


def _function_of_source(library: InstalledLibrary, name: str, key: ListKey) -> FunctionResult:
    """Return what the source file of a function adds; no recipes are known for most of them."""
    uses = library.sources.uses(name, library.tuples(key.direction), library.macros)
    if uses is None:
        raise InputError(
            f"{name}: no recipe says which tuples it uses, and no source file; use a source tree, or the "
            "archive of the library"
        )
    refused = {library.classes.get(item.device).record.refusal for use in uses for item in use.instances}
    if any(refused):
        return FunctionResult(name=name, status=FunctionStatus.NO_STRING, reason=max(refused))
    return FunctionResult(name=name, status=FunctionStatus.SOURCE, uses=uses)


def joined_uses(
    library: InstalledLibrary, name: str, key: ListKey, *, recipe_first: bool = True
) -> tuple[Use, ...]:
    """Return the uses that account for exactly the instances that a function was compiled with, in order.

    The recipe of the function is tried before all tuples of the direction, because it is nearly always right:
    it is accepted only if it gives the compiled instances, no more and no less.

    :raises JoinError: instances are left over.
    """
    tuples = library.tuples(key.direction)
    compiled = frozenset(library.compiled_instances(name, key))
    if recipe_first:
        try:
            expected = uses_by_recipe(name, key, tuples)
        except InputError:
            expected = None
        if expected is not None and frozenset(item for use in expected for item in use.instances) == compiled:
            return expected
    readable = []
    for alias in tuples:
        try:
            tuples.pattern(alias)
        except InputError:
            # A tuple of another operation, with a class of its own. If this function had it, some of its
            # instances would be left over.
            continue
        readable.append(alias)
    return in_order(cover(name, compiled, readable, tuples), library.vocabulary)


def _in_order(
    functions: Sequence[FunctionResult], options: ExtractOptions, library: InstalledLibrary
) -> list[tuple[str, Use]]:
    pairs = [(item.name, use) for item in functions for use in item.uses]
    if options.factory_order:
        return pairs

    def key(index: int) -> tuple[object, ...]:
        name, use = pairs[index]
        group, by_declaration, path = source_place(name)
        if not by_declaration:
            return (group, path, index)
        return (group, "", use.pattern.rank, use.enumerators(library.vocabulary), index)

    return [pairs[index] for index in sorted(range(len(pairs)), key=key)]
