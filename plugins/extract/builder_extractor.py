"""The extractor that asks CK Builder: lists whose lines are what the tree itself prints."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.model import extraction as model
from ckprof.plain_text import unknown_name
from ckprof_converters.reflection.tree import ARCHS, SET
from ckprof_plugins.extract.request import FUSED, INSTRUCTIONS, option_values, wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof_converters.library_lists import ListKey
    from ckprof_converters.reflection.program import PrintedTuple

OPTIONS: Final = (
    INSTRUCTIONS,
    FUSED,
    model.ExtractorOption(
        name="arch",
        choices=("any", *ARCHS),
        default="any",
        help="what factories that depend on the device are told it is; any: what one of them has",
    ),
)


class BuilderExtractor:
    """Compiles CK Builder's reflection for the factories of a source tree; needs a compiler, but no GPU."""

    id = "reflection"
    label = "CK Builder of a source tree of Composable Kernel, compiled"
    options: Sequence[model.ExtractorOption] = OPTIONS

    def extract(self, request: model.ExtractRequest) -> model.ExtractionReport:
        """Print lists.

        :raises UsageError: an unknown direction, layout, type, set or option.
        :raises InputError: there is no such folder.
        :raises ToolchainError: no tree with CK Builder, no compiler, or something does not compile.
        """
        # Every command registers the extractor, few of them extract.
        from ckprof_converters.reflection.printing import print_keys

        start = time.monotonic()
        for name in request.sets:
            if name != SET:
                raise UsageError(unknown_name("set", name, (SET,)))
        values = option_values(request, OPTIONS)
        printed = print_keys(
            request.source,
            wanted(request, str(values["fused"])),
            str(values["instructions"]),
            ARCHS if values["arch"] == "any" else (str(values["arch"]),),
        )
        lists = {key: _list(key, tuples) for key, tuples in printed.lists.items()}
        facts = {
            "name": "Composable Kernel",
            "version": printed.tree.version,
            "source": str(printed.tree.root),
        }
        return model.ExtractionReport(
            extractor=self.id,
            library={name: text for name, text in facts.items() if text},
            options=values,
            lists=tuple(item for item in lists.values() if item.files[0].lines),
            absent=tuple(str(key) for key, item in lists.items() if not item.files[0].lines),
            notes=printed.notes,
            seconds=time.monotonic() - start,
        )

    def compare(self, file: model.ExtractedFile, kept: Sequence[str] | None) -> model.ListComparison:
        """Compare a printed list with a kept one."""
        from ckprof_plugins.extract.compare import compare

        return compare(file, kept)


def _list(key: ListKey, printed: Sequence[PrintedTuple]) -> model.ExtractedList:
    from ckprof_converters.reflection.printing import lines_of, place_of

    tuples = Counter(item.function for item in printed)
    instances: Counter[str] = Counter()
    silent: Counter[str] = Counter()
    for item in printed:
        instances[item.function] += len(item.strings)
        silent[item.function] += len(item.silent)
    functions = [
        model.ExtractedFunction(
            name=name,
            status="printed" if instances[name] else "silent" if silent[name] else "empty",
            tuples=tuples[name],
            instances=instances[name],
        )
        for name in tuples
    ]
    lines = (model.ExtractedLine(text=text, function=function) for text, function in lines_of(key, printed))
    return model.ExtractedList(
        direction=key.direction,
        name=key.file_name.removesuffix(".conf"),
        files=(model.ExtractedFile(place=place_of(key), set_name=SET, lines=tuple(lines)),),
        functions=tuple(functions),
        counts={
            "functions": len(tuples),
            "tuples": sum(tuples.values()),
            "instances": sum(instances.values()),
            "silent": sum(silent.values()),
        },
        skipped=Counter(function.status for function in functions if function.status != "printed"),
    )
