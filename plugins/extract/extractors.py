"""The extractors of Composable Kernel: what its library was built with, and what CK Builder prints."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError, UsageError
from ckprof.sanitize import unknown_name
from ckprof_converters.library_lists import chosen_lists, known, known_lists
from ckprof_converters.reflection.tree import ARCHS, SET
from ckprof_plugins.extract.lists import (
    ExtractedFile,
    ExtractedFunction,
    ExtractedLine,
    ExtractedList,
    ExtractionReport,
    ExtractorOption,
)

if TYPE_CHECKING:
    from ckprof.errors import CkprofError
    from ckprof_converters.library_lists import ListKey
    from ckprof_converters.reflection.program import PrintedTuple
    from ckprof_plugins.extract.library import InstalledLibrary
    from ckprof_plugins.extract.lists import ExtractRequest


INSTRUCTIONS: Final = ExtractorOption(
    name="instructions",
    choices=tuple(known_lists().engines),
    default="xdl",
    help="kind of matrix instructions that the instances use",
)
#: every name of a factory that does more than convolve
_FUSED_NAMES: Final = tuple(
    dict.fromkeys(name for one in known_lists().directions.values() for name in one.fused)
)
FUSED: Final = ExtractorOption(
    name="fused",
    choices=("none", *_FUSED_NAMES, "all"),
    default="none",
    help="lists of instances that do more than a convolution, by what the library calls it; all: these and "
    "the others",
)
SETS: Final = ("profiler", "tests", "typestring")


def wanted(request: ExtractRequest, fused: str = FUSED.choices[0]) -> list[ListKey]:
    """Return the lists that are asked for.

    :param fused: a value of :data:`FUSED`.
    :raises UsageError: an unknown direction, layout, type or set.
    """
    known("set", request.sets, SETS)
    return chosen_lists(request.directions, request.layouts, request.dtypes, fused)


def option_values(request: ExtractRequest, options: Sequence[ExtractorOption]) -> dict[str, str | int | bool]:
    """Return the value of each option.

    :raises UsageError: an unknown option, or a value that it does not have.
    """
    values = {option.name: option.default for option in options}
    for name, value in request.options.items():
        option = next((item for item in options if item.name == name), None)
        if option is None:
            raise UsageError(unknown_name("option", name, list(values)))
        if option.choices and value not in option.choices:
            raise UsageError(unknown_name(name, str(value), option.choices))
        if type(option.default) is int and (type(value) is not int or value < 1):
            raise UsageError(f"--{name}: expected a number of at least 1, got {value}")
        values[name] = value
    return values


OPTIONS: Final = (
    INSTRUCTIONS,
    FUSED,
    ExtractorOption(
        name="selection",
        choices=("library", "shipped"),
        default="library",
        help="library: what the library has; shipped: without what upstream's own lists omit, and with "
        "what they have beyond the library",
    ),
    ExtractorOption(
        name="order",
        choices=("source", "factory"),
        default="source",
        help="source: by the source files of the functions; factory: by the calls of the factory",
    ),
    ExtractorOption(name="every", default=5, help="the set tests has every N-th instance of profiler"),
    ExtractorOption(
        name="stages",
        choices=("fixed", "computed"),
        default="fixed",
        help="prefetch stages in explicit-GEMM lines: 2, as upstream's lists have them, or the kernel's own",
    ),
    ExtractorOption(
        name="no-archive",
        default=False,
        help="read the headers alone; which instances a function uses is then known by recipes",
    ),
)

_RECIPES: Final = (
    "no archive was read: which tuples a function uses comes from recipes, and functions that were not "
    "compiled cannot be identified"
)


class LibraryExtractor:
    """Derives lists from headers and archive of an installed Composable Kernel."""

    id = "composable-kernel"
    label = "the instance library of Composable Kernel"
    options: Sequence[ExtractorOption] = OPTIONS

    def extract(self, request: ExtractRequest) -> ExtractionReport:
        """Derive lists.

        :raises UsageError: an unknown direction, layout, type, set or option.
        :raises InputError: a damaged or foreign archive or package.
        :raises ToolchainError: no library, or something that reading it requires is missing.
        """
        # Every command registers the extractor, few of them extract.
        from ckprof_plugins.extract.extraction import ListDeriver
        from ckprof_plugins.extract.opening import locate, open_library

        start = time.monotonic()
        values = option_values(request, OPTIONS)
        keys = wanted(request, str(values["fused"]))
        location = locate(request.source, os.environ)
        opened, keep = open_library(location, with_archive=not values["no-archive"])
        deriver = ListDeriver(
            opened,
            engine=str(values["instructions"]),
            shipped_selection=values["selection"] == "shipped",
            factory_order=values["order"] == "factory",
            computed_stages=values["stages"] == "computed",
        )
        lists, absent = [], []
        failures: dict[str, CkprofError] = {}
        for key in keys:
            try:
                derived = deriver.derive(key)
                if derived is None:
                    absent.append(str(key))
                else:
                    lists.append(derived.extracted(request.sets or key.sets, int(values["every"])))
            except InputError as exc:
                failures[str(key)] = exc
        keep()
        return ExtractionReport(
            extractor=self.id,
            library=_facts(opened),
            options=values,
            lists=tuple(lists),
            absent=tuple(absent),
            failures=failures,
            notes=(_RECIPES,) if opened.compiled is None and lists else (),
            seconds=time.monotonic() - start,
        )


def _facts(library: InstalledLibrary) -> dict[str, str]:
    """Return what identifies a library, the same in every run."""
    facts = {
        "name": "Composable Kernel",
        "version": library.version,
        "commit": library.commit,
        "package": library.package,
        "source": library.label,
        "headers": library.headers.digest(),
    }
    if library.compiled is not None:
        symbols = msgspec.json.encode(library.compiled.symbols)
        facts["archive"] = library.compiled.path
        facts["symbols"] = hashlib.blake2b(symbols, digest_size=16).hexdigest()
    return {name: value for name, value in facts.items() if value}


BUILDER_OPTIONS: Final = (
    INSTRUCTIONS,
    FUSED,
    ExtractorOption(
        name="arch",
        choices=("any", *ARCHS),
        default="any",
        help="the device that factories which depend on it are given; any: what one of them has",
    ),
)


class BuilderExtractor:
    """Compiles CK Builder's reflection for the factories of a source tree; needs a compiler, but no GPU."""

    id = "reflection"
    label = "CK Builder of a source tree of Composable Kernel, compiled"
    options: Sequence[ExtractorOption] = BUILDER_OPTIONS

    def extract(self, request: ExtractRequest) -> ExtractionReport:
        """Print lists.

        :raises UsageError: an unknown direction, layout, type, set or option.
        :raises InputError: there is no such folder.
        :raises ToolchainError: no tree with CK Builder, no compiler, or something does not compile.
        """
        # Every command registers the extractor, few of them extract.
        from ckprof_converters.reflection.program import notes_on, print_keys, silent_classes

        start = time.monotonic()
        for name in request.sets:
            if name != SET:
                raise UsageError(unknown_name("set", name, (SET,)))
        values = option_values(request, BUILDER_OPTIONS)
        tree, printed = print_keys(
            request.source,
            wanted(request, str(values["fused"])),
            str(values["instructions"]),
            ARCHS if values["arch"] == "any" else (str(values["arch"]),),
        )
        lists = {key: _printed_list(key, tuples) for key, tuples in printed.items()}
        facts = {"name": "Composable Kernel", "version": tree.version, "source": str(tree.root)}
        return ExtractionReport(
            extractor=self.id,
            library={name: text for name, text in facts.items() if text},
            options=values,
            lists=tuple(item for item in lists.values() if item.files[0].lines),
            absent=tuple(str(key) for key, item in lists.items() if not item.files[0].lines),
            notes=notes_on(silent_classes(printed)),
            seconds=time.monotonic() - start,
        )


def _printed_list(key: ListKey, printed: Sequence[PrintedTuple]) -> ExtractedList:
    from ckprof_converters.reflection.program import lines_of, place_of

    tuples = Counter(item.function for item in printed)
    instances: Counter[str] = Counter()
    silent: Counter[str] = Counter()
    for item in printed:
        instances[item.function] += len(item.strings)
        silent[item.function] += len(item.silent)
    functions = [
        ExtractedFunction(
            name=name,
            status="printed" if instances[name] else "silent" if silent[name] else "empty",
            tuples=tuples[name],
            instances=instances[name],
        )
        for name in tuples
    ]
    lines = (ExtractedLine(text=text, function=function) for text, function in lines_of(key, printed))
    return ExtractedList(
        direction=key.direction,
        name=key.file_name.removesuffix(".conf"),
        files=(ExtractedFile(place=place_of(key), lines=tuple(lines)),),
        functions=tuple(functions),
        counts={
            "functions": len(tuples),
            "tuples": sum(tuples.values()),
            "instances": sum(instances.values()),
            "silent": sum(silent.values()),
        },
        skipped=Counter(function.status for function in functions if function.status != "printed"),
    )
