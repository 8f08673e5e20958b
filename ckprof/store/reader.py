"""The read interface of a store: what compare, report and exports are written against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ckprof.store.query import StoreQuery

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.model.problem import Problem
    from ckprof.store.attempt import Attempt, Session
    from ckprof.store.query import MeasurementSummary

EVERYTHING = StoreQuery()


class StoreReader(Protocol):
    """Attempts and measurements, whether they come from a database or from an imported file."""

    @property
    def name(self) -> str:
        """What messages call the store: its path."""

    def __len__(self) -> int:
        """Return the number of attempts."""

    def __iter__(self) -> Iterator[Attempt]:
        """Yield every attempt in the order they were added."""

    def attempts(self, query: StoreQuery = EVERYTHING, *, samples: bool = True) -> Iterator[Attempt]:
        """Yield the attempts that the query asks for, in the order they were added.

        Parts that attempts share (keys, kernels, sessions) are shared objects.

        :param samples: read the raw samples too; without them ``measurement.samples_ms`` is empty.
        """

    def measurements(self, query: StoreQuery = EVERYTHING) -> Iterator[MeasurementSummary]:
        """Yield one summary per measurement key that the query asks for, over all its attempts.

        The attempt-wise conditions of the query (tag, session, times) select measurements that have at least
        one such attempt; ``statuses`` is compared with the latest one.
        """

    def best(self, query: StoreQuery = EVERYTHING) -> Sequence[MeasurementSummary]:
        """Return the fastest measurement that may be ranked per problem.

        One for each combination of operation, data type, layout, device, toolchain, method and problem;
        splits and kernels compete.
        """

    def sessions(self) -> Sequence[Session]:
        """Return the sessions, oldest first."""

    def problems(self) -> Sequence[Problem]:
        """Return every problem of the store once, in the order they were added."""
