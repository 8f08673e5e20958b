"""Lists from an installed library: derived, compared with kept ones, written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError, NothingLeftError, PluginError, ToolchainError, UsageError
from ckprof.files import write_output
from ckprof.option import settable
from ckprof.parity.compare import closest_pairs
from ckprof_plugins.extract.protocols import EXTRACTORS

if TYPE_CHECKING:
    from ckprof.errors import CkprofError
    from ckprof.session import Session
    from ckprof.testing.contract import Trials
    from ckprof.testing.samples import Samples
    from ckprof_plugins.extract.protocols import ListExtractor


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorOption:
    """An option that one extractor understands."""

    #: as users type it, without dashes, e.g. ``order``
    name: str
    help: str
    #: accepted values; empty for a number of at least 1, and for a switch
    choices: tuple[str, ...] = ()
    #: the value without the option; ``False`` makes it a switch
    default: str | int | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractRequest:
    """Which lists are wanted from which library."""

    #: in any form that the extractor knows; ``None`` searches the usual places
    source: Path | None = settable(
        None,
        "include root, install prefix, source tree, archive (.a) or package (.deb) of the library",
        flag="--from",
        metavar="PATH",
    )
    #: id of the extractor; empty for the first one
    extractor: str = ""
    directions: tuple[str, ...] = settable(
        (), "only of this direction (repeatable)", flag="--direction", metavar="NAME"
    )
    layouts: tuple[str, ...] = settable(
        (), "only of this layout (repeatable)", flag="--layout", metavar="NAME"
    )
    dtypes: tuple[str, ...] = settable(
        (), "only of this data type (repeatable)", flag="--dtype", metavar="NAME"
    )
    sets: tuple[str, ...] = settable(
        (),
        "only these sets: profiler, tests, typestring (default: those that each direction usually has)",
        flag="--set",
        metavar="NAME[,NAME]",
        parse=lambda text: text.split(","),
        several="store",
    )
    #: option -> value, where it is not the default
    options: Mapping[str, str | int | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedLine:
    """One line of a list."""

    text: str
    #: the function of the library that has the instance
    function: str
    #: what each field of the text is; empty where that is not known
    field_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFile:
    """One list of one set: what a file holds."""

    #: path below the folder of all lists
    place: str
    lines: tuple[ExtractedLine, ...]

    def content(self, remarks: Sequence[str] = ()) -> str:
        """Return the text of the file.

        :param remarks: lines in front, without comment marks.
        """
        return "".join(f"{line}\n" for line in (*(f"# {item}" for item in remarks), *self.texts))

    @property
    def texts(self) -> tuple[str, ...]:
        """The lines as text."""
        return tuple(line.text for line in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFunction:
    """One function of the library."""

    name: str
    #: how its instances are known, or why it has none, e.g. ``compiled`` or ``empty``
    status: str
    tuples: int
    instances: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedList:
    """The instances of one direction, layout and data type."""

    direction: str
    #: ``<layout>_<dtype>``
    name: str
    files: tuple[ExtractedFile, ...]
    functions: tuple[ExtractedFunction, ...]
    #: what summaries show: column -> number
    counts: Mapping[str, int]
    #: reason -> functions that gave no instance
    skipped: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionReport:
    """What was found in a library."""

    #: id of the extractor
    extractor: str
    #: facts about the library that do not change between two runs: version, digests, ...
    library: Mapping[str, str]
    #: option -> value, defaults included
    options: Mapping[str, str | int | bool]
    lists: tuple[ExtractedList, ...]
    #: ``<direction> <name>`` of lists for which the library has no instance
    absent: tuple[str, ...] = ()
    #: ``<direction> <name>`` -> why the list could not be derived
    failures: Mapping[str, CkprofError] = field(default_factory=dict)
    #: what the user should know
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def files(self) -> tuple[ExtractedFile, ...]:
        """The files of all lists."""
        return tuple(file for item in self.lists for file in item.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedLine:
    """A line that the library does not have, with the added line that it most likely became."""

    text: str
    #: that of no other removed line; empty if nothing of its kind is left
    nearest: str = ""
    #: name, old and new value of each field in which the two differ
    changes: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListComparison:
    """How a derived list differs from the kept one."""

    #: path below the folder of all lists
    place: str
    #: lines in both, counted once for each occurrence
    common: int
    #: function -> lines that the kept list lacks
    added: Mapping[str, tuple[str, ...]]
    removed: tuple[RemovedLine, ...]
    #: the same lines, in another order
    reordered: bool
    #: there is no such list in the folder
    missing: bool = False

    @property
    def is_same(self) -> bool:
        """The lists are equal, line for line."""
        return not (self.added or self.removed or self.reordered or self.missing)

    @property
    def added_count(self) -> int:
        """Number of lines that the kept list lacks."""
        return sum(len(lines) for lines in self.added.values())

    @property
    def verdict(self) -> str:
        """A few words."""
        if self.missing:
            return "no such list"
        if self.is_same:
            return "same"
        if self.reordered:
            return "same set, other order"
        return f"{self.added_count} added, {len(self.removed)} removed"


SCHEMA: Final = "ckprof.extract"
VERSION: Final = 1
#: file beside the lists that says where they come from
FACTS_FILE: Final = "extract.json"


def extract_lists(session: Session, request: ExtractRequest) -> ExtractionReport:
    """Derive lists from an installed library.

    :raises PluginError: there is no extractor at all.
    :raises NothingLeftError: the library has none of the lists that were asked for.
    :raises CkprofError: the request is wrong, or the library is missing or cannot be read.
    """
    extractors = session.registry.entries(EXTRACTORS)
    if not len(extractors):
        raise PluginError("no plugin offers an extractor of instance lists")
    extractor = extractors.find(request.extractor) if request.extractor else next(iter(extractors))
    directions = tuple(session.registry.operation(name).id for name in request.directions)
    report = extractor.extract(replace(request, directions=directions))
    if not report.lists and not report.failures:
        raise NothingLeftError(
            f"the library has no such list: {', '.join(report.absent) or 'none was asked for'}"
        )
    return report


def compare_lists(report: ExtractionReport, folder: Path) -> tuple[ListComparison, ...]:
    """Compare derived lists with those of a folder, file by file.

    :raises InputError: a list cannot be read.
    """
    if not folder.is_dir():
        raise InputError("there is no such folder of lists", folder)
    return tuple(compare(file, _kept_lines(folder / file.place)) for file in report.files)


def _kept_lines(path: Path) -> list[str] | None:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(f"cannot be read: {exc}", path) from exc
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def write_lists(
    report: ExtractionReport, folder: Path, *, force: bool = False, with_remarks: bool = False
) -> dict[Path, bool]:
    """Write derived lists, and beside them what they come from.

    :param force: replace files that hold something else.
    :param with_remarks: begin each list with comment lines that say what it comes from.
    :returns: file -> whether it was written; false if it had these very bytes already.
    :raises UsageError: a file holds something else; nothing was written.
    :raises InputError: a file cannot be written.
    """
    contents = {
        folder / file.place: file.content(remarks(report, file) if with_remarks else ())
        for file in report.files
    }
    contents[folder / FACTS_FILE] = f"{json.dumps(facts(report), indent=2)}\n"
    if not force:
        for path, text in contents.items():
            if path.exists() and not (path.is_file() and path.read_bytes() == text.encode()):
                raise UsageError(f"{path} exists and holds something else; --overwrite replaces it")
    return {path: write_output(path, text) for path, text in contents.items()}


def remarks(report: ExtractionReport, file: ExtractedFile) -> tuple[str, ...]:
    """Return what the comment lines of a list say: where it comes from."""
    options = " ".join(f"--{name} {value}" for name, value in report.options.items())
    return (
        *(f"{name}: {value}" for name, value in report.library.items()),
        f"ckprof extract {options}",
        f"instances: {len(file.lines)}",
    )


def facts(report: ExtractionReport) -> dict[str, Any]:
    """Return where lists come from as plain JSON values, the same for the same library."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "library": dict(report.library),
        "options": dict(report.options),
        "lists": [
            {
                "direction": item.direction,
                "name": item.name,
                "files": {file.place: len(file.lines) for file in item.files},
                "counts": dict(item.counts),
                "skipped": dict(item.skipped),
                "functions": [asdict(function) for function in item.functions],
            }
            for item in report.lists
        ],
        "absent": list(report.absent),
        "failures": {name: str(error) for name, error in report.failures.items()},
        "notes": list(report.notes),
    }


def comparison_values(comparison: ListComparison) -> Mapping[str, Any]:
    """Return a comparison as plain JSON values."""
    return {
        "list": comparison.place,
        "verdict": comparison.verdict,
        "common": comparison.common,
        "added": {function: list(lines) for function, lines in comparison.added.items()},
        "removed": [
            {
                "line": removed.text,
                "nearest": removed.nearest,
                "changes": [{"field": name, "old": old, "new": new} for name, old, new in removed.changes],
            }
            for removed in comparison.removed
        ],
    }


def compare(file: ExtractedFile, kept: Sequence[str] | None) -> ListComparison:
    """Compare a derived list with a kept one.

    :param kept: lines of the kept list; ``None`` if there is none.
    """
    old, new = Counter(kept or ()), Counter(file.texts)
    gone, come = old - new, new - old
    added = [line for line in file.lines if _take(come, line.text)]
    by_function: dict[str, list[str]] = {}
    for line in added:
        by_function.setdefault(line.function, []).append(line.text)
    removed = _removed([text for text in (kept or ()) if _take(gone, text)], added)
    same_set = kept is not None and not added and not removed
    return ListComparison(
        place=file.place,
        common=sum((old & new).values()),
        added={function: tuple(lines) for function, lines in by_function.items()},
        removed=removed,
        reordered=same_set and tuple(kept or ()) != file.texts,
        missing=kept is None,
    )


def _take(counter: Counter[str], text: str) -> bool:
    counter[text] -= 1
    return counter[text] >= 0


def split_fields(text: str) -> tuple[str, tuple[str, ...]]:
    """Return name and fields of a line, split at the commas outside of brackets and before labels."""
    name, _, rest = text.partition("<")
    fields = []
    depth = 0
    current = ""
    for letter in rest.removesuffix(">"):
        # ``Inner<a, b> Label: c`` is two fields.
        if depth == 0 and (letter == "," or (letter == " " and current.endswith(">"))):
            fields.append(current.strip())
            current = ""
            continue
        depth += (letter in "(<") - (letter in ")>")
        current += letter
    return name, (*fields, current.strip())


def _removed(texts: Sequence[str], added: Sequence[ExtractedLine]) -> tuple[RemovedLine, ...]:
    """Return the lines that went, each with the one that it most likely became."""
    old, new = [split_fields(text) for text in texts], [split_fields(line.text) for line in added]
    pairs = closest_pairs(old, new)
    removed = []
    for place, text in enumerate(texts):
        if place not in pairs:
            removed.append(RemovedLine(text=text))
            continue
        near = added[pairs[place]]
        before, after = old[place][1], new[pairs[place]][1]
        known = near.field_names if len(near.field_names) == len(before) else None
        names = known or [f"field {index}" for index in range(len(before))]
        changes = tuple(
            _change(*change) for change in zip(names, before, after, strict=True) if change[1] != change[2]
        )
        removed.append(RemovedLine(text=text, nearest=near.text, changes=changes))
    return tuple(removed)


def _change(name: str, old: str, new: str) -> tuple[str, str, str]:
    """Return a change; a label in the field itself is its name."""
    label, colon, value = new.partition(": ")
    if colon and old.startswith(f"{label}: "):
        return label, old[len(label) + 2 :], value
    return name, old, new


def extractor_trials(samples: Samples, extractor: ListExtractor) -> Trials:
    """Yield the trials of an extractor, for which there need not be a library."""
    yield "has options", lambda: f"{len(extractor.options)} options"
    yield "refuses a folder without a library", lambda: _refused(samples, extractor)


def _refused(samples: Samples, extractor: ListExtractor) -> str:
    empty = samples.folder / "nothing"
    empty.mkdir(exist_ok=True)
    try:
        report = extractor.extract(ExtractRequest(source=empty, extractor=extractor.id))
    except (InputError, ToolchainError) as exc:
        return str(exc)
    if any(extracted.files for extracted in report.lists):
        raise PluginError("derives lists from an empty folder")
    return "no list"
