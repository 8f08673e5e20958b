"""The extractor that asks CK Builder: lists whose lines are what the tree itself prints."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.model import extraction as model
from ckprof.plain_text import unknown_name
from ckprof_converters.extract.lists import known_lists
from ckprof_converters.extract.request import FUSED, INSTRUCTIONS, option_values, wanted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof_converters.extract.lists import ListKey
    from ckprof_converters.reflection.program import PrintedTuple

_SET: Final = "profiler"
#: devices for which factories differ
_ARCHS: Final = ("gfx942", "gfx950")

OPTIONS: Final = (
    INSTRUCTIONS,
    FUSED,
    model.ExtractorOption(
        name="arch",
        choices=("any", *_ARCHS),
        default="any",
        help="what factories that depend on the device are told it is; any: what one of them has",
    ),
)


class BuilderExtractor:
    """Compiles CK Builder's reflection for the factories of a source tree; needs a compiler, but no GPU."""

    id = "reflection"
    label = "CK Builder of a source tree of Composable Kernel, compiled"
    options: Sequence[model.ExtractorOption] = OPTIONS
    prints_strings = True

    def extract(self, request: model.ExtractRequest) -> model.ExtractionReport:
        """Print lists.

        :raises UsageError: an unknown direction, layout, type, set or option.
        :raises InputError: there is no such folder.
        :raises ToolchainError: no tree with CK Builder, no compiler, or something does not compile.
        """
        # Every command registers the extractor, few of them extract.
        from ckprof_converters.reflection.factories import is_of
        from ckprof_converters.reflection.program import Reflector
        from ckprof_converters.reflection.tree import find_tree

        start = time.monotonic()
        for name in request.sets:
            if name != _SET:
                raise UsageError(unknown_name("set", name, (_SET,)))
        values = option_values(request, OPTIONS)
        keys = wanted(request, "all" if request.lines else str(values["fused"]))
        if request.lines:
            keys = [key for key in keys if any(is_of(line, key) for line in request.lines)]
        tree = find_tree(request.source)
        macros = known_lists().engines[str(values["instructions"])].macros
        archs = _ARCHS if values["arch"] == "any" else (str(values["arch"]),)
        printed = Reflector(tree, archs, macros).reflect(keys)
        lists = {key: _list(key, tuples) for key, tuples in printed.items()}
        silent = Counter(name for tuples in printed.values() for item in tuples for name in item.silent)
        return model.ExtractionReport(
            extractor=self.id,
            library={
                name: text
                for name, text in (
                    ("name", "Composable Kernel"),
                    ("version", tree.version),
                    ("source", str(tree.root)),
                )
                if text
            },
            options=values,
            lists=tuple(item for item in lists.values() if item.files[0].lines),
            absent=tuple(str(key) for key, item in lists.items() if not item.files[0].lines),
            without_string=frozenset(silent),
            notes=_notes(silent),
            seconds=time.monotonic() - start,
        )

    def compare(self, file: model.ExtractedFile, kept: Sequence[str] | None) -> model.ListComparison:
        """Compare a printed list with a kept one."""
        from ckprof_converters.extract.compare import compare

        return compare(file, kept)


def _list(key: ListKey, printed: Sequence[PrintedTuple]) -> model.ExtractedList:
    from ckprof_converters.reflection.factories import annotation

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
    remark = annotation(key)
    return model.ExtractedList(
        direction=key.direction,
        name=key.file_name.removesuffix(".conf"),
        files=(
            model.ExtractedFile(
                place=f"{key.folder}/{_SET}/{key.file_name}",
                set_name=_SET,
                lines=tuple(
                    model.ExtractedLine(text=text + remark, function=item.function)
                    for item in printed
                    for text in item.strings
                ),
            ),
        ),
        functions=tuple(functions),
        counts={
            "functions": len(tuples),
            "tuples": sum(tuples.values()),
            "instances": sum(instances.values()),
            "silent": sum(silent.values()),
        },
        skipped=Counter(function.status for function in functions if function.status != "printed"),
    )


def _notes(silent: Mapping[str, int]) -> tuple[str, ...]:
    """Say which classes the tree's Builder does not describe, and how many instances it leaves out."""
    return tuple(
        f"this tree's CK Builder has no string for {name}: {count} instances are left out"
        for name, count in sorted(silent.items())
    )
