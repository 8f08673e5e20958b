"""Lists from an installed library: derived, compared with kept ones, written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError, NothingLeftError, PluginError, UsageError
from ckprof.files import write_output
from ckprof.model.extraction import FieldChange, ListComparison, RemovedLine
from ckprof.model.pairing import closest_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.extraction import ExtractedFile, ExtractedLine, ExtractionReport, ExtractRequest
    from ckprof.plugin.protocols import ListExtractor
    from ckprof.session import Session


SCHEMA: Final = "ckprof.extract"
VERSION: Final = 1
#: file beside the lists that says where they come from
FACTS_FILE: Final = "extract.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenList:
    """One file of lists."""

    path: Path
    #: false if the file had these very bytes already
    written: bool


def find_extractor(session: Session, name: str) -> ListExtractor:
    """Return the extractor of that id, else the first.

    :raises UsageError: there is none of that name.
    :raises PluginError: there is none at all.
    """
    extractors = session.registry.extractors
    if name:
        return extractors.find(name)
    for extractor in extractors:
        return extractor
    raise PluginError("no plugin offers an extractor of instance lists")


def extract_lists(session: Session, request: ExtractRequest) -> ExtractionReport:
    """Derive lists from an installed library.

    :raises NothingLeftError: the library has none of the lists that were asked for.
    :raises CkprofError: the request is wrong, or the library is missing or cannot be read.
    """
    extractor = find_extractor(session, request.extractor)
    directions = tuple(session.registry.operation(name).id for name in request.directions)
    report = extractor.extract(replace(request, directions=directions))
    if not report.lists and not report.failures:
        raise NothingLeftError(
            f"the library has no such list: {', '.join(report.absent) or 'none was asked for'}"
        )
    return report


def compare_lists(session: Session, report: ExtractionReport, folder: Path) -> tuple[ListComparison, ...]:
    """Compare derived lists with those of a folder, file by file.

    :raises InputError: a list cannot be read.
    """
    if not folder.is_dir():
        raise InputError("there is no such folder of lists", folder)
    extractor = find_extractor(session, report.extractor)
    return tuple(extractor.compare(file, _kept_lines(folder / file.place)) for file in report.files)


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
) -> tuple[WrittenList, ...]:
    """Write derived lists, and beside them what they come from.

    :param force: replace files that hold something else.
    :param with_remarks: begin each list with comment lines that say what it comes from.
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
    return tuple(WrittenList(path=path, written=write_output(path, text)) for path, text in contents.items())


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
                "changes": [
                    {"field": change.name, "old": change.old, "new": change.new} for change in removed.changes
                ],
            }
            for removed in comparison.removed
        ],
    }


def compare(file: ExtractedFile, kept: Sequence[str] | None) -> ListComparison:
    """Compare a derived list with a kept one.

    :param kept: lines of the kept list; ``None`` if there is none.
    """
    old = Counter(kept or ())
    new = Counter(file.texts)
    gone = old - new
    come = new - old
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
    if counter[text]:
        counter[text] -= 1
        return True
    return False


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
    return tuple(
        RemovedLine(
            text=text,
            nearest=added[pairs[place]].text,
            changes=_changes(old[place][1], new[pairs[place]][1], added[pairs[place]].field_names),
        )
        if place in pairs
        else RemovedLine(text=text, nearest="", changes=())
        for place, text in enumerate(texts)
    )


def _changes(old: Sequence[str], new: Sequence[str], names: Sequence[str]) -> tuple[FieldChange, ...]:
    return tuple(
        _change(names[index] if len(names) == len(old) else f"field {index}", before, after)
        for index, (before, after) in enumerate(zip(old, new, strict=True))
        if before != after
    )


def _change(name: str, old: str, new: str) -> FieldChange:
    """Return a change; a label in the field itself is its name."""
    label, colon, value = new.partition(": ")
    if colon and old.startswith(f"{label}: "):
        return FieldChange(name=label, old=old[len(label) + 2 :], new=value)
    return FieldChange(name=name, old=old, new=new)
