"""The extractor of Composable Kernel: from a request of the core to a report for it."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError
from ckprof.model import extraction as model
from ckprof_plugins.extract.request import FUSED, INSTRUCTIONS, option_values, wanted

if TYPE_CHECKING:
    from ckprof.errors import CkprofError
    from ckprof_plugins.extract.extraction import ExtractedList, Extraction
    from ckprof_plugins.extract.library import Library

OPTIONS: Final = (
    INSTRUCTIONS,
    FUSED,
    model.ExtractorOption(
        name="selection",
        choices=("library", "shipped"),
        default="library",
        help="library: what the library has; shipped: without what upstream's own lists leave out, and with "
        "what they have beyond the library",
    ),
    model.ExtractorOption(
        name="order",
        choices=("source", "factory"),
        default="source",
        help="source: by the source files of the functions; factory: by the calls of the factory",
    ),
    model.ExtractorOption(name="every", default=5, help="the set tests has every N-th instance of profiler"),
    model.ExtractorOption(
        name="stages",
        choices=("fixed", "computed"),
        default="fixed",
        help="prefetch stages in explicit-GEMM lines: 2, as upstream's lists have them, or the kernel's own",
    ),
    model.ExtractorOption(
        name="no-archive",
        default=False,
        help="read the headers alone; which instances a function uses is then known by recipes",
    ),
)

_RECIPES: Final = (
    "no archive was read: which tuples a function uses comes from recipes, and functions that were not "
    "compiled cannot be told"
)


class LibraryExtractor:
    """Derives lists from headers and archive of an installed Composable Kernel."""

    id = "composable-kernel"
    label = "the instance library of Composable Kernel"
    options: Sequence[model.ExtractorOption] = OPTIONS

    def extract(self, request: model.ExtractRequest) -> model.ExtractionReport:
        """Derive lists.

        :raises UsageError: an unknown direction, layout, type, set or option.
        :raises InputError: a damaged or foreign archive or package.
        :raises ToolchainError: no library, or something that reading it requires is missing.
        """
        # Every command registers the extractor, few of them extract.
        from ckprof_plugins.extract.extraction import ExtractOptions, Order, Selection, extract
        from ckprof_plugins.extract.locate import locate
        from ckprof_plugins.extract.opening import open_library

        start = time.monotonic()
        values = option_values(request, OPTIONS)
        keys = wanted(request, str(values["fused"]))
        location = locate(request.source, os.environ)
        opened = open_library(location, with_archive=not values["no-archive"])
        options = ExtractOptions(
            engine=str(values["instructions"]),
            selection=Selection(values["selection"]),
            order=Order(values["order"]),
            computed_stages=values["stages"] == "computed",
        )
        result = extract(opened.library, keys, options)
        failures: dict[str, CkprofError] = {str(key): error for key, error in result.failures.items()}
        lists = []
        for item in result.lists:
            try:
                lists.append(_list(item, request.sets or item.key.sets, int(values["every"])))
            except InputError as exc:
                failures[str(item.key)] = exc
        opened.keep()
        return model.ExtractionReport(
            extractor=self.id,
            library=_facts(opened.library),
            options=values,
            lists=tuple(lists),
            absent=tuple(str(key) for key in result.absent),
            failures=failures,
            notes=_notes(opened.library, result),
            seconds=time.monotonic() - start,
        )

    def compare(self, file: model.ExtractedFile, kept: Sequence[str] | None) -> model.ListComparison:
        """Compare a derived list with a kept one."""
        from ckprof_plugins.extract.compare import compare

        return compare(file, kept)


def _list(item: ExtractedList, sets: Sequence[str], every: int) -> model.ExtractedList:
    files = []
    for set_name in sets:
        lines = [
            model.ExtractedLine(
                text=text,
                function=line.function,
                field_names=() if set_name == "typestring" else line.field_names,
            )
            for text, line in item.pairs(set_name, every)
        ]
        if not lines:
            # a part of so few instances that none is in it: no reader takes an empty list
            continue
        files.append(
            model.ExtractedFile(
                place=f"{item.key.folder}/{set_name}/{item.key.file_name}",
                set_name=set_name,
                lines=tuple(lines),
            )
        )
    functions = tuple(
        model.ExtractedFunction(
            name=function.name,
            status=function.status.value,
            tuples=len(function.uses),
            instances=sum(len(use.instances) for use in function.uses),
        )
        for function in item.functions
    )
    return model.ExtractedList(
        direction=item.key.direction,
        name="/".join(filter(None, (item.key.fused, item.key.file_name.removesuffix(".conf")))),
        files=tuple(files),
        functions=functions,
        counts=item.counts(),
        skipped=item.skipped(),
    )


def _facts(library: Library) -> dict[str, str]:
    """Return what identifies a library, the same in every run."""
    facts = {
        "name": "Composable Kernel",
        "version": library.version,
        "commit": library.commit,
        "package": library.package,
        "source": library.label,
        "headers": library.headers.digest(),
    }
    if library.archive is not None:
        symbols = msgspec.json.encode(library.archive.symbols)
        facts["archive"] = library.archive.path
        facts["symbols"] = hashlib.blake2b(symbols, digest_size=16).hexdigest()
    return {name: value for name, value in facts.items() if value}


def _notes(library: Library, result: Extraction) -> tuple[str, ...]:
    return (_RECIPES,) if library.archive is None and result.lists else ()
