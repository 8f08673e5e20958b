"""What became of kernels of the shipped lists on the emulated device: ``plugins/emulator/tests/data/ran``.

One file for each architecture and API level: compiling and running all of them takes a machine hours, so it
goes on where it ended. The first line says what compiled; each other line is the outcome of a kernel, with a
digest of its generated source: it counts for as long as ckprof writes that source.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ckprof.kernels.candidates import check_validity
from ckprof.kernels.keys import digest_parts
from tests.plugins.pipelines.level_counts import shipped

RECORDS = Path(__file__).parent / "data" / "ran"
#: a kernel that was compiled and run
RAN = ""
_DIGEST_LENGTH = 16
#: columns: kernels, and runs that were right and those that were not
COUNTED = ("compiled", "failed", "ran", "right", "wrong")


@dataclass(slots=True)
class Outcome:
    """What became of a kernel."""

    #: content key of the instance
    key: str
    #: digest of the source that ckprof wrote for it
    source: str
    #: the compiler's message; empty if it compiles
    failure: str = RAN
    #: runs with the right result and no finding of a check
    right: int = 0
    #: runs that the kernel does not support
    unsupported: int = 0
    #: every other run: problem, status and reason
    wrong: list[str] = field(default_factory=list)


class Record:
    """The outcomes of an architecture and an API level.

    :param compiled_by: what compiles further kernels, as the file's first line says it; empty to read only.
    :param folder: where the file lies; that of the lists' usual kernels unless given.
    :raises ValueError: what the file has was compiled by something else.
    """

    def __init__(self, arch, level, compiled_by=None, folder=None):
        self.arch, self.level = arch, level
        self._path = (folder or RECORDS) / f"{arch}_{level}.jsonl"
        self.outcomes = {}
        if self._path.exists():
            first, *lines = self._path.read_text().splitlines()
            if compiled_by is not None and json.loads(first) != compiled_by:
                raise ValueError(f"{self._path}: compiled by {first}; remove it to begin anew")
            found = (Outcome(**json.loads(line)) for line in lines)
            self.outcomes = {one.key: one for one in found}
        elif compiled_by is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(compiled_by) + "\n")

    def add(self, outcomes):
        """Store what has become known."""
        defaults = asdict(Outcome("", ""))
        with self._path.open("a") as stream:
            for one in outcomes:
                self.outcomes[one.key] = one
                said = {name: value for name, value in asdict(one).items() if value != defaults[name]}
                stream.write(json.dumps(said) + "\n")

    def known(self, kernels):
        """Return the outcomes of those kernels whose source is as it was then, by content key."""
        return {
            one.key: one
            for kernel in kernels
            if (one := self.outcomes.get(kernel.instance.key)) is not None
            and one.source == self.source_of(kernel)
        }

    def source_of(self, kernel):
        """Return the digest of the source that ckprof writes for a kernel."""
        source = kernel.pipeline.render(kernel.instance, self.arch, self.level)
        return digest_parts(source.header)[:_DIGEST_LENGTH]


def expressed(arch, level, *, fused=False):
    """Yield each list: its name, its kernels, and those that the level can express.

    :param fused: lists with an element-wise operation, or those without.
    """
    for name, candidates in shipped(fused=fused):
        yield name, candidates, check_validity(candidates, arch, level)[0]


def table(record, *, fused=False):
    """Return the lines of the table, lists of which the level expresses nothing left out, and their sum.

    A kernel that several lists have counts for each of them, and once in the sum.

    :param fused: lists with an element-wise operation, or those without. The former are one row for each
        operation, in which a kernel counts once.
    """
    lines = [
        f"| list | kernels | expressed at {record.level} | {' | '.join(COUNTED)} |",
        "|---" * (3 + len(COUNTED)) + "|",
    ]
    distinct = {}
    all_known = {}
    rows = expressed(record.arch, record.level, fused=fused)
    for name, kernels, valid in _by_operation(rows) if fused else rows:
        known = record.known(valid)
        distinct.update((one.instance.key, one) for one in valid)
        all_known.update(known)
        if valid:
            lines.append(row(name, f"{len(kernels)} | {len(valid)}", known.values()))
    lines.append(row("each kernel once", f" | {len(distinct)}", all_known.values()))
    return lines


def summary():
    """Return the lines of a table with a row for each record, kernels with and without an operation apart.

    Each kernel counts once. Those of which none has an outcome are left out.
    """
    lines = [
        f"| architecture | headers | kernels | expressed | {' | '.join(COUNTED)} |",
        "|---" * (4 + len(COUNTED)) + "|",
    ]
    for path in sorted(RECORDS.glob("*.jsonl")):
        record = Record(*path.stem.split("_"))
        for fused, kernels in ((False, "without an operation"), (True, "with an operation")):
            rows = expressed(record.arch, record.level, fused=fused)
            distinct = {one.instance.key: one for _, _, valid in rows for one in valid}
            known = record.known(distinct.values())
            if known:
                of = f"{record.arch} | {record.level} | {kernels}"
                lines.append(row(of, str(len(distinct)), known.values()))
    return lines


def _by_operation(lists):
    folders = {}
    for name, *both in lists:
        folder = name.rsplit("/", 2)[0]
        for found, further in zip(folders.setdefault(folder, ({}, {})), both, strict=True):
            found.update((one.instance.key, one) for one in further)
    for folder, (kernels, valid) in folders.items():
        yield folder, tuple(kernels.values()), tuple(valid.values())


def row(name, kernels, known):
    """Return a line of a table: what became of some kernels.

    :param kernels: cells that say how many there are.
    :param known: their outcomes.
    """
    total = Counter[str]()
    for one in known:
        runs = one.right + len(one.wrong)
        total.update(
            compiled=int(one.failure == RAN),
            failed=int(one.failure != RAN),
            ran=int(runs > 0),
            right=one.right,
            wrong=len(one.wrong),
        )
    cells = (name, kernels, *(total[column] for column in COUNTED))
    return f"| {' | '.join(map(str, cells))} |"
