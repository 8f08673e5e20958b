"""The lists of an installed library."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from ckprof.errors import InputError
from ckprof.model.types import DataType
from ckprof_converters.library_lists import ListKey, known_lists
from ckprof_converters.lines import annotation_of
from ckprof_plugins.extract.classes import string_writer
from ckprof_plugins.extract.headers import combined
from ckprof_plugins.extract.lists import ExtractedFile, ExtractedFunction, ExtractedLine, ExtractedList
from ckprof_plugins.extract.uses import (
    Use,
    cover,
    extra_uses,
    is_left_out,
    source_place,
    uses_by_recipe,
    uses_of_source,
)
from ckprof_plugins.pipelines.vocabulary import mem_prefetch_stages

if TYPE_CHECKING:
    from ckprof_plugins.extract.library import InstalledLibrary
    from ckprof_plugins.extract.mangling import DeviceInstance


#: what the lists that upstream ships print for every pipeline; readers ignore it
FIXED_STAGES: Final = "2"
_STAGES: Final[Mapping[str, str]] = {"v1": "1", "v3": "2", "v4": "3", "v5": "3"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedLine(ExtractedLine):
    """One instance as lists print it."""

    device: str
    #: type string; empty where none is known
    type_text: str
    #: parameter -> value
    fields: Mapping[str, str]


def prefetch_stages(values: Mapping[str, str]) -> str:
    """Return how many tiles a block GEMM pipeline fetches ahead: a constant each but for the memory pipeline.

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
    return str(mem_prefetch_stages(size * k, block))


def _size_of(spelled: str) -> int:
    dtype = DataType.of_string(spelled)
    if dtype is None:
        raise InputError(f"the size of type {spelled} is not known; use --stages fixed")
    return dtype.properties.size_bytes


#: what became of a function: ``compiled``, with instances that the headers account for; known by its
#: ``recipe`` alone; read from its ``source`` file; compiled ``empty``, so that it adds nothing; declared, but
#: ``not-compiled`` into the archive; of a class with ``no-string``; ``left-out`` of upstream's shipped lists
FunctionStatus = Literal["compiled", "recipe", "source", "empty", "not-compiled", "no-string", "left-out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedList:
    """One list of an installed library."""

    key: ListKey
    #: functions with what became of each, and what it adds
    functions: tuple[tuple[str, FunctionStatus, tuple[Use, ...]], ...]
    lines: tuple[DerivedLine, ...]

    def file(self, set_name: str, every: int = 5) -> ExtractedFile:
        """Return one of the sets ``profiler``, ``tests`` and ``typestring``.

        :raises InputError: a class has no known type string.
        """
        lines: tuple[ExtractedLine, ...] = (
            self.lines[every - 1 :: every] if set_name == "tests" else self.lines
        )
        if set_name == "typestring":
            for line in self.lines:
                if not line.type_text:
                    raise InputError(f"{self.key}: no type string of {line.device} is known")
            lines = tuple(ExtractedLine(text=line.type_text, function=line.function) for line in self.lines)
        return ExtractedFile(place=f"{self.key.folder}/{set_name}/{self.key.file_name}", lines=lines)

    def extracted(self, sets: Sequence[str], every: int = 5) -> ExtractedList:
        """Return the sets of the list, with what became of its functions.

        :raises InputError: a class has no known type string.
        """
        files = (self.file(set_name, every) for set_name in sets)
        return ExtractedList(
            direction=self.key.direction,
            name="/".join(filter(None, (self.key.fused, self.key.file_name.removesuffix(".conf")))),
            # a part of so few instances that none is in it: no reader takes an empty list
            files=tuple(file for file in files if file.lines),
            functions=tuple(
                ExtractedFunction(
                    name=name,
                    status=status,
                    tuples=len(uses),
                    instances=sum(len(use.instances) for use in uses),
                )
                for name, status, uses in self.functions
            ),
            counts=self._counts(),
            skipped=Counter(
                status for _, status, _ in self.functions if status not in ("compiled", "recipe", "source")
            ),
        )

    def _counts(self) -> Mapping[str, int]:
        """Return what summaries show: functions, tuples, instances and kinds of instances."""
        texts = {line.text for line in self.lines}
        return {
            "functions": sum(bool(uses) for *_, uses in self.functions),
            "tuples": sum(len(uses) for *_, uses in self.functions),
            "instances": len(self.lines),
            "duplicates": len(self.lines) - len(texts),
            "direct_load": sum(line.fields.get("DirectLoad") == "true" for line in self.lines),
            "merged": sum(line.fields.get("NumGroupsToMerge", "1") != "1" for line in self.lines),
            "large": sum("Large_Tensor" in line.device for line in self.lines),
            "two_stage": sum("TwoStage" in line.device for line in self.lines),
            "explicit": sum("_Explicit_" in line.text for line in self.lines),
        }


class ListDeriver:
    """Derives lists of one installed library.

    :param engine: kind of matrix instructions.
    :param shipped_selection: what the lists that upstream ships say of the library, in place of what it has.
    :param factory_order: in the order of the factory's calls, in place of that of the source files.
    :param computed_stages: print the prefetch stages of explicit GEMM as they are, not as shipped lists do.
    """

    def __init__(
        self,
        library: InstalledLibrary,
        *,
        engine: str = "xdl",
        shipped_selection: bool = False,
        factory_order: bool = False,
        computed_stages: bool = False,
    ) -> None:
        self._library = library
        self._engine = engine
        self._shipped_selection = shipped_selection
        self._factory_order = factory_order
        self._computed_stages = computed_stages

    def derive(self, key: ListKey) -> DerivedList | None:
        """Return a list; ``None`` if the library has, or has compiled, none of its functions.

        :raises InputError: something of it cannot be read, or headers and archive disagree.
        """
        functions: list[tuple[str, FunctionStatus, tuple[Use, ...]]] = []
        reasons = set()
        for name in self._library.calls(key, self._engine):
            if self._shipped_selection and is_left_out(name):
                functions.append((name, "left-out", ()))
                reasons.add("not in shipped lists")
                continue
            status, uses, reason = _function(self._library, name, key)
            extra = extra_uses(name, uses) if self._shipped_selection else ()
            functions.append((name, status, (*extra, *uses)))
            reasons.add(reason)
        ordered = self._in_order([(name, use) for name, _, uses in functions for use in uses])
        lines = tuple(self._line(name, item) for name, use in ordered for item in use.instances)
        if all(status == "not-compiled" for _, status, _ in functions):
            return None
        if not lines:
            raise InputError(f"{key}: no instance is left: {', '.join(sorted(reasons))}")
        return DerivedList(key=key, functions=tuple(functions), lines=lines)

    def _in_order(self, pairs: list[tuple[str, Use]]) -> list[tuple[str, Use]]:
        if self._factory_order:
            return pairs

        def place(pair: tuple[str, Use]) -> tuple[object, ...]:
            name, use = pair
            group, by_declaration, path = source_place(name)
            if not by_declaration:
                return (group, path)
            return (group, "", use.pattern.rank, use.enumerators(self._library.enumerations))

        return sorted(pairs, key=place)

    def _line(self, function: str, instance: DeviceInstance) -> DerivedLine:
        """Return the line of an instance."""
        device = self._library.classes(instance.device)
        writer = string_writer(instance.device)
        values = dict(zip(device.names, instance.arguments, strict=True))
        if "{stages}" in device.record.text:
            values["stages"] = prefetch_stages(values) if self._computed_stages else FIXED_STAGES
        opaque = [combined()[text] for text in instance.arguments if text in combined()]
        said = {name: combined()[text][0] if text in combined() else text for name, text in values.items()}
        remark = annotation_of({"elementwise_op": opaque[-1][1]}) if opaque else ""
        return DerivedLine(
            function=function,
            device=instance.device,
            text=writer.instance_string(said) + remark,
            type_text=writer.type_string(said),
            fields=values,
            field_names=writer.field_names,
        )


def _function(
    library: InstalledLibrary, name: str, key: ListKey
) -> tuple[FunctionStatus, tuple[Use, ...], str]:
    """Return what a function adds: as it was compiled, by its recipe or its source file; or why nothing."""
    tuples = library.tuples(key.direction)
    if library.compiled is None:
        # no recipes are known for most functions that do more than convolve
        uses = None if key.fused else uses_by_recipe(name, key, tuples)
        if uses is not None:
            return "recipe", uses, ""
        if name not in library.sources:
            raise InputError(
                f"{name}: no recipe says which tuples it uses, and no source file; use a source tree, or the "
                "archive of the library"
            )
        uses = uses_of_source(name, library.sources[name], tuples, library.macros)
        refusal = _refusal(library, [item for use in uses for item in use.instances])
        return ("no-string", (), refusal) if refusal else ("source", uses, "")
    if library.compiled.member_of(name, key.shape.ndim) is None:
        if re.search(known_lists().optional, name):
            return "not-compiled", (), "declared but not compiled"
        raise InputError(
            f"{name}: the factory calls it, but the archive does not define it; "
            "headers and archive must be of one release",
            library.compiled.path,
        )
    compiled = library.compiled_instances(name, key)
    if not compiled:
        return "empty", (), "compiled, adds nothing"
    refusal = _refusal(library, compiled)
    if refusal:
        return "no-string", (), refusal
    # the recipe is nearly always right; it is accepted only if it gives these instances, no more and no less
    with suppress(InputError):
        expected = uses_by_recipe(name, key, tuples) or ()
        if frozenset(item for use in expected for item in use.instances) == frozenset(compiled):
            return "compiled", expected, ""
    return "compiled", joined_uses(library, name, key), ""


def _refusal(library: InstalledLibrary, instances: Sequence[DeviceInstance]) -> str:
    """Return why some of the instances have no string; empty where all have one."""
    return max((library.classes(item.device).record.refusal for item in instances), default="")


def joined_uses(library: InstalledLibrary, name: str, key: ListKey) -> tuple[Use, ...]:
    """Return the uses that account for exactly the instances that a function was compiled with, in order.

    :raises InputError: instances are left over.
    """
    tuples = library.tuples(key.direction)
    compiled = frozenset(library.compiled_instances(name, key))
    readable = []
    for alias in tuples:
        # A tuple of another operation has a class of its own. If this function had it, some of its instances
        # would be left over.
        with suppress(InputError):
            tuples.pattern(alias)
            readable.append(alias)

    def place(use: Use) -> tuple[object, ...]:
        # tuples for the double-rate instructions stand first; the uses of one tuple follow its enumerations
        doubled = use.pattern.alias.endswith("_2x")
        return (not doubled, use.pattern.rank, use.enumerators(library.enumerations))

    return tuple(sorted(cover(name, compiled, readable, tuples), key=place))
