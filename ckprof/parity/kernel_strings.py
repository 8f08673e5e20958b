"""Whether the kernels of a freshly built library say of themselves what their pipelines say of them.

``instance_string`` in Python and ``get_instance_string`` in C++ must give one text. Reports show the first,
programs that link the library see the second: where they differ, the family is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.build.atomic_write import write_atomically
from ckprof.errors import PluginError
from ckprof.run.instance_strings import query_instance_strings
from ckprof.strings.rendering import StringError

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.flow.candidates import Candidate
    from ckprof.flow.kernel_library import BuiltLibrary
    from ckprof.plugin.registry import Registry
    from ckprof.strings.string_grammar import StringGrammar

#: beside a library: says that its strings were compared, by the size and time of the file
_STAMP = "instance_strings.checked"


def check_kernel_strings(library: BuiltLibrary, registry: Registry) -> None:
    """Compare the texts of a library's kernels with those of their pipelines, once per link of the library.

    Nothing is compared where kernels cannot be loaded. A kernel that gives no text is reported by
    ``ckprof parity``; so is a text of no known kind on targets with headers of the user's.

    :raises PluginError: texts differ; the message names the plugin, the pipeline and both texts.
    """
    path = library.path
    if path is None or library.recipe.cannot_run:
        return
    stamp = path.with_name(f"{path.stem}.{_STAMP}")
    state = _state(path)
    if _content(stamp) == state:
        return
    texts = query_instance_strings(path, [candidate.instance.key for candidate in library.built]).texts
    embedded = registry.targets.find(library.recipe.target).embedded
    for candidate in library.built:
        text, expected = texts.get(candidate.instance.key), candidate.instance_string
        if (
            text is not None
            and text != expected
            and _differ(text, expected, registry.strings, strict=embedded)
        ):
            raise _difference(candidate, text, expected, registry)
    write_atomically(stamp, state)


def _differ(text: str, expected: str, strings: StringGrammar, *, strict: bool) -> bool:
    """Say whether two texts mean different instances: revisions of Composable Kernel spell them differently.

    :param strict: a text that cannot be taken apart differs.
    """
    try:
        return strings.parse(text) != strings.parse(expected)
    except StringError:
        return strict


def _difference(candidate: Candidate, text: str, expected: str, registry: Registry) -> PluginError:
    pipeline = candidate.pipeline.id
    return PluginError(
        f"plugin {registry.pipelines.provider(pipeline)}: pipeline {pipeline!r}: instance_string gives\n"
        f"  {expected}\nbut get_instance_string() of the kernel {candidate.name} gives\n  {text}"
    )


def _state(path: Path) -> str:
    found = path.stat()
    return f"{found.st_size} {found.st_mtime_ns}\n"


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
