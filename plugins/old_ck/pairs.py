"""Two kernels of one origin held against each other: what the new one loses and gains."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from statistics import geometric_mean
from typing import TYPE_CHECKING, Final

from ckprof.kernels.inspection import Inspection, compare
from ckprof.model.outcome import Outcome, Status
from ckprof.option import Limits, least_of

if TYPE_CHECKING:
    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.inspection import FigureChange, InspectedKernel
    from ckprof.measure.worker.messages import Support, SupportQuery


#: in place of the id of a condition: what rules of audits say of an old kernel
RULES: Final = "rules of audits"
#: share by which a kernel is slower at least
_LEAST_SLOWDOWN: Final = 0.02
_NUMBER: Final = re.compile(r"\d+")


class Loss(Enum):
    """What a new kernel may lose; the value is what users type and what reports print."""

    SUPPORT = ("support", "problems that only the old kernel supports")
    RESULTS = ("results", "results of the new kernel alone that are wrong")
    SLOWER = ("slower", "new kernels that take longer")
    RESOURCES = ("resources", "new kernels with spills or lost occupancy")
    SPLITS = ("splits", "automatic splits or workspaces that differ")
    STRINGS = ("strings", "texts of objects that are not those that ckprof computes")
    RULES = ("rules", "answers of old objects that the rules of audits do not give")
    BUILD = ("build", "old kernels that do not compile, which leaves nothing to compare")

    #: what it counts, for readers of reports
    meaning: str

    def __new__(cls, value: str, meaning: str) -> Loss:
        part = object.__new__(cls)
        part._value_, part.meaning = value, meaning
        return part


class Agreement(Enum):
    """How results of both kernels on a problem compare."""

    #: both are right, to the bit where sums are exact
    EQUAL = "equal"
    #: both are right within what rounding allows
    ROUNDING = "within rounding"
    #: each is right by a reference of its own: the kernels convert sums in different ways
    OWN_REFERENCES = "other conversion"
    NEW_WRONG = "new is wrong"
    OLD_WRONG = "old is wrong"
    BOTH_WRONG = "both are wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSide:
    """One kernel of a pair with all that was found of it."""

    #: ``None`` where the family has no kernel of the line
    candidate: Candidate | None
    #: why it has no kernel that runs; empty if it has one
    reason: str
    #: in the order of the pair's queries
    answers: Sequence[Support]
    #: position of a query -> what became of it
    outcomes: Mapping[int, Outcome] = field(default_factory=dict)
    #: position of a query -> microseconds, and what bounds them; empty for measured ones
    times: Mapping[int, tuple[float, str]] = field(default_factory=dict)
    #: position of a query -> unit -> instructions of the loop that most of the time is spent in; of predicted
    #: times alone
    loops: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    #: ``None`` where the target's machine code is not read
    code: InspectedKernel | None = None
    #: what the object prints, and what it is expected to print; empty where it prints nothing
    strings: tuple[str, str] = ("", "")
    #: it has no kernel that runs since that does not compile
    broken: bool = False

    @property
    def key(self) -> str:
        """Content key of the kernel; empty where it is missing."""
        return self.candidate.instance.key if self.candidate is not None else ""


@dataclass(frozen=True, kw_only=True)
class KernelPair:
    """The old and the new kernel of one line.

    :param source: the line, as ``file:line``.
    :param queries: what both were asked.
    """

    source: str
    queries: Sequence[SupportQuery]
    old: PairSide
    new: PairSide
    #: right results are known to the bit, with operands whose sums are exact
    exact: bool
    #: position of a query -> what the rules of audits say is not met, empty if all is; none where they cannot
    #: judge it
    ruled: Mapping[int, str] = field(default_factory=dict)

    @property
    def kernel(self) -> Candidate:
        """The new kernel, or the old one where there is no new one."""
        kernel = self.new.candidate or self.old.candidate
        assert kernel is not None  # noqa: S101 - a pair has at least one
        return kernel

    @property
    def both(self) -> int:
        """How many queries both support."""
        return sum(one.supported and other.supported for one, other in self._answers())

    def _answers(self) -> Iterator[tuple[Support, Support]]:
        return zip(self.old.answers, self.new.answers, strict=True)

    @property
    def running(self) -> list[PairSide]:
        """The sides that have a kernel."""
        return [side for side in (self.old, self.new) if not side.reason]

    @cached_property
    def agreements(self) -> Mapping[int, Agreement]:
        """How the results of both compare, by the positions of the queries that both computed."""
        old, new = self.old.outcomes, self.new.outcomes
        return {at: self._agreement(old[at], new[at]) for at in old if at in new}

    def _agreement(self, old: Outcome, new: Outcome) -> Agreement:
        right = old.status is Status.OK, new.status is Status.OK
        if not all(right):
            return {(True, False): Agreement.NEW_WRONG, (False, True): Agreement.OLD_WRONG}.get(
                right, Agreement.BOTH_WRONG
            )
        types = {side.candidate.instance.types for side in self.running if side.candidate is not None}
        if len(types) > 1:
            return Agreement.OWN_REFERENCES
        return Agreement.ROUNDING if old.one_set or new.one_set or not self.exact else Agreement.EQUAL

    @cached_property
    def changes(self) -> Sequence[FigureChange]:
        """Figures of the machine code that differ; nothing where that of a side is not known."""
        if self.old.code is None or self.new.code is None:
            return ()
        one = Inspection(target="", arch="", api_level="", compiler="", kernels=())
        old, new = (
            replace(one, kernels=(replace(code, name=self.source),))
            for code in (self.old.code, self.new.code)
        )
        return compare(old, new).changes

    def only(self, side: PairSide) -> list[int]:
        """Return the positions of the queries that one side alone supports."""
        if self.old.broken:
            return []  # nobody knows what it would support
        wanted = (True, False) if side is self.old else (False, True)
        return [
            at for at, both in enumerate(self._answers()) if tuple(one.supported for one in both) == wanted
        ]

    def conditions(self, side: PairSide) -> list[tuple[str, int, str, str]]:
        """Return why a side does not support what the other one does, the most frequent condition first.

        :returns: id of the condition, how many queries it rejects, the first of them and what it says there.
        """
        found: dict[tuple[str, str], tuple[int, str, str]] = {}
        for index in self.only(self.old if side is self.new else self.new):
            unmet = side.answers[index].unmet_requirements
            rule, said = (unmet[0].rule, unmet[0].message) if unmet else ("", "no condition is named")
            kind = ""
            if side is self.old and self.ruled.get(index):
                # objects of the old library name none
                rule, said = RULES, self.ruled[index]
                kind = _NUMBER.sub("", said)
            count, *first = found.get((rule, kind), (0, asked(self.queries[index]), said))
            found[rule, kind] = count + 1, first[0], first[1]
        return sorted(((rule, *rest) for (rule, _), rest in found.items()), key=lambda one: -one[1])

    @cached_property
    def rules(self) -> Mapping[int, str]:
        """What the rules of audits say of queries that the old object answers otherwise, by position."""
        if self.old.reason:
            return {}
        return {
            at: f"not supported by the rules: {unmet}" if unmet else "supported by the rules"
            for at, unmet in self.ruled.items()
            if self.old.answers[at].supported is bool(unmet)
        }

    @cached_property
    def splits(self) -> list[int]:
        """Positions of the queries that both support, with other splits or another workspace."""
        return [
            at
            for at, (old, new) in enumerate(self._answers())
            if old.supported
            and new.supported
            and (old.split_k, old.workspace_bytes) != (new.split_k, new.workspace_bytes)
        ]

    @cached_property
    def ratio(self) -> float | None:
        """Geometric mean of new time / old time; ``None`` without a query that both have times for."""
        old, new = self.mean_us(self.old), self.mean_us(self.new)
        return new / old if old and new else None

    def mean_us(self, side: PairSide) -> float | None:
        """Return the geometric mean of a side's times, of queries that both have times for."""
        return geometric_mean(side.times[at][0] for at in self.timed) if self.timed else None

    @property
    def limit(self) -> str:
        """What bounds the old and the new time of the query that takes the new kernel longest."""
        longest = self._longest
        if longest is None:
            return ""
        return " -> ".join(dict.fromkeys(side.times[longest][1] for side in (self.old, self.new)))

    def loop(self, side: PairSide) -> Mapping[str, int]:
        """Return unit -> instructions of a side's hot loop on that query; empty where they are not known."""
        return side.loops.get(self._longest, {}) if self._longest is not None else {}

    @property
    def _longest(self) -> int | None:
        """Position of the query that takes the new kernel longest."""
        return max(self.timed, key=lambda at: self.new.times[at][0], default=None)

    @property
    def timed(self) -> list[int]:
        """Positions of the queries that both have times for."""
        return [index for index in self.old.times if index in self.new.times]

    @cached_property
    def losses(self) -> Mapping[Loss, float]:
        """What is lost, and how much of it: a count, of times the share by which they are longer."""
        sides = (self.old, self.new)
        found = {
            Loss.SUPPORT: len(self.only(self.old)),
            Loss.RESULTS: sum(one is Agreement.NEW_WRONG for one in self.agreements.values()),
            Loss.SLOWER: slower if (slower := (self.ratio or 1.0) - 1) >= _LEAST_SLOWDOWN else 0.0,
            Loss.RESOURCES: sum(change.worse for change in self.changes),
            Loss.SPLITS: len(self.splits),
            Loss.STRINGS: sum(printed != expected for printed, expected in (one.strings for one in sides)),
            Loss.RULES: len(self.rules),
            Loss.BUILD: int(self.old.broken),
        }
        return {loss: amount for loss, amount in found.items() if amount}

    def fails(self, fail_on: Limits[Loss]) -> list[Loss]:
        """Return the losses that fail a migration."""
        return [
            loss
            for loss, amount in self.losses.items()
            if loss in fail_on and amount >= least_of(fail_on, loss)
        ]


def asked(query: SupportQuery) -> str:
    """Return a query as reports show it."""
    return query.problem.describe() + (f" split_k {query.split_k}" if query.split_k != 1 else "")


@dataclass(frozen=True, kw_only=True)
class Migration:
    """All pairs, the largest loss first."""

    pairs: tuple[KernelPair, ...]
    direction: str
    target: str
    arch: str
    #: what times are: of which device, predicted or measured; empty without any
    times: str
    #: problems drawn at random per pair
    random: int
    fail_on: Limits[Loss]
    #: what was not compared, and why
    notes: tuple[str, ...]

    @property
    def counts(self) -> Mapping[Loss, int]:
        """How many pairs have each loss."""
        return {loss: sum(loss in pair.losses for pair in self.pairs) for loss in Loss}

    @property
    def answers(self) -> Mapping[str, int]:
        """Sums over all pairs but those whose old kernel does not compile.

        :returns: how often a side was ``asked``, what ``both`` support, what the old one alone (``lost``) and
            the new one alone (``gained``), and of how many the rules of audits say something (``judged``).
        """
        compared = [pair for pair in self.pairs if not pair.old.broken]
        return {
            "asked": sum(len(pair.queries) for pair in compared),
            "both": sum(pair.both for pair in compared),
            "lost": sum(len(pair.only(pair.old)) for pair in compared),
            "gained": sum(len(pair.only(pair.new)) for pair in compared),
            "judged": sum(len(pair.ruled) for pair in compared if not pair.old.reason),
        }

    @property
    def failures(self) -> list[str]:
        """Return why the migration fails, one phrase per loss; exit codes and all formats go by it."""
        failing = [loss for pair in self.pairs for loss in pair.fails(self.fail_on)]
        return [f"{failing.count(loss)} {loss.value}" for loss in Loss if loss in failing]
