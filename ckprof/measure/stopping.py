"""When the sampling of a kernel stops: whichever is first of

* the criterion is satisfied, after ``min_samples`` samples and ``min_time_s`` seconds of kernel time;
* ``max_time_s`` seconds of wall time are spent, after ``min_time_s`` of kernel time and at least
  ``fewest_samples`` samples;
* one more sample would exceed what is left of the kernel's timeout.

A criterion is a named object with declared parameters. It sees every sample and says whether it is satisfied.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter, deque
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from ckprof.errors import UsageError
from ckprof.model.outcome import MAX_TIME, TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.measure.worker.sampling import TimingSettings


class StoppingCriterion(ABC):
    """Decides from the samples alone whether more of them would tell more."""

    #: what users type with ``--criterion`` and what a measurement records
    id: ClassVar[str]
    #: numbers that users may set, by name -> what holds otherwise
    parameters: ClassVar[Mapping[str, float]]

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = dict(self.parameters)
        for name, value in values.items():
            if name not in self._values:
                names = ", ".join(self._values)
                raise UsageError(f"criterion {self.id} has no parameter {name!r}: expected one of {names}")
            if not (math.isfinite(value) and value > 0):
                raise UsageError(f"parameter {name} of criterion {self.id} is {value}, expected more than 0")
            self._values[name] = value

    @classmethod
    def share(cls, values: Mapping[str, float], rounds: int) -> dict[str, float]:
        """Return the parameters for one of several rounds that share the samples.

        :param values: those of all samples; only what differs from the defaults.
        :param rounds: how many rounds there are at least.
        """
        del rounds
        return dict(values)

    @abstractmethod
    def add(self, sample_ms: float) -> None:
        """Take note of a sample, in milliseconds."""

    @abstractmethod
    def is_finished(self) -> bool:
        """Say whether the samples so far are enough."""


class StandardDeviation(StoppingCriterion):
    """Stops when the relative standard deviation is small, or does not change any more, or the mean is known.

    The second rule is for machines whose noise never falls below the threshold: more samples would not change
    what is known about it. The third one ends rounds that share a measurement: they differ from each other by
    more than the samples of one leave unknown.
    """

    id = "stdrel"
    #: standard deviation divided by mean; recent noise values that are compared with each other, and the
    #: relative standard deviation of these; standard error of the mean divided by it
    parameters = MappingProxyType({"max-noise": 0.005, "window": 32, "max-drift": 0.05, "max-error": 0.0005})

    def __init__(self, values: Mapping[str, float]) -> None:
        super().__init__(values)
        self._moments = _Moments()
        self._noises: deque[float] = deque(maxlen=max(2, int(self._values["window"])))

    @classmethod
    def share(cls, values: Mapping[str, float], rounds: int) -> dict[str, float]:
        """Return a window of its share, and as an error of the mean what the noise should be in the end."""
        if rounds == 1:
            return dict(values)
        all_values = {**cls.parameters, **values}
        window = math.ceil(all_values["window"] / rounds)
        return {
            **values,
            "window": window,
            "max-error": max(all_values["max-noise"], all_values["max-error"]),
        }

    def add(self, sample_ms: float) -> None:
        """Take note of a sample, in milliseconds."""
        self._moments.add(sample_ms)
        if self._moments.count > 1:
            self._noises.append(self._moments.relative_deviation())

    def is_finished(self) -> bool:
        """Say whether noise is low, or as high as it was for the whole window."""
        if not self._noises:
            return False
        noise = self._noises[-1]
        error = noise / math.sqrt(self._moments.count)
        if noise <= self._values["max-noise"] or error <= self._values["max-error"]:
            return True
        return len(self._noises) == self._noises.maxlen and self._drift() <= self._values["max-drift"]

    def _drift(self) -> float:
        mean = sum(self._noises) / len(self._noises)
        squares = sum((noise - mean) ** 2 for noise in self._noises)
        return math.sqrt(squares / (len(self._noises) - 1)) / mean if mean else 0.0


class SampleCount(StoppingCriterion):
    """Stops after a fixed number of samples."""

    id = "sample-count"
    parameters = MappingProxyType({"count": 100})

    def __init__(self, values: Mapping[str, float]) -> None:
        super().__init__(values)
        self._seen = 0

    @classmethod
    def share(cls, values: Mapping[str, float], rounds: int) -> dict[str, float]:
        """Return the number of samples of one round."""
        return {"count": math.ceil(values.get("count", cls.parameters["count"]) / rounds)}

    def add(self, sample_ms: float) -> None:
        """Take note of a sample, in milliseconds."""
        self._seen += 1

    def is_finished(self) -> bool:
        """Say whether the number is reached."""
        return self._seen >= self._values["count"]


class Entropy(StoppingCriterion):
    """Stops when new samples bring no new information.

    Samples are sorted into bins; the Shannon entropy of the bins rises while unseen times turn up and is flat
    once the distribution is known. A line is fitted through the recent entropies: its slope must be small and
    its residual too.
    """

    id = "entropy"
    #: bits per sample; root mean square distance from the line in bits; recent entropies through which it is
    #: fitted; width of a bin relative to the first sample
    parameters = MappingProxyType({"max-slope": 0.002, "max-residual": 0.1, "window": 32, "resolution": 0.01})

    def __init__(self, values: Mapping[str, float]) -> None:
        super().__init__(values)
        self._bin_ms = 0.0
        self._bins: Counter[int] = Counter()
        self._seen = 0
        #: sum of count * log2(count) over all bins
        self._weighted = 0.0
        self._entropies: deque[float] = deque(maxlen=max(3, int(self._values["window"])))

    def add(self, sample_ms: float) -> None:
        """Take note of a sample, in milliseconds."""
        if not self._bin_ms:
            self._bin_ms = sample_ms * self._values["resolution"]
        index = round(sample_ms / self._bin_ms)
        before = self._bins[index]
        self._bins[index] = before + 1
        self._seen += 1
        self._weighted += _times_log2(before + 1) - _times_log2(before)
        self._entropies.append(math.log2(self._seen) - self._weighted / self._seen)

    def is_finished(self) -> bool:
        """Say whether the entropy is flat over the whole window."""
        if len(self._entropies) < (self._entropies.maxlen or 0):
            return False
        slope, residual = _fit_line(self._entropies)
        return abs(slope) <= self._values["max-slope"] and residual <= self._values["max-residual"]


class _Moments:
    """Mean and variance that are updated with each value, without cancellation (Welford's method)."""

    __slots__ = ("_squares", "count", "mean")

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self._squares = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        delta = value - self.mean
        self.mean += delta / self.count
        self._squares += delta * (value - self.mean)

    def relative_deviation(self) -> float:
        if self.count < 2 or self.mean == 0:
            return 0.0
        return math.sqrt(self._squares / (self.count - 1)) / abs(self.mean)


def _times_log2(count: int) -> float:
    return count * math.log2(count) if count else 0.0


def _fit_line(values: Sequence[float]) -> tuple[float, float]:
    """Return slope and root mean square residual of the line through equally spaced values."""
    count = len(values)
    centre = (count - 1) / 2
    mean = sum(values) / count
    spread = sum((index - centre) ** 2 for index in range(count))
    slope = sum((index - centre) * (value - mean) for index, value in enumerate(values)) / spread
    squares = sum((value - mean - slope * (index - centre)) ** 2 for index, value in enumerate(values))
    return slope, math.sqrt(squares / count)


#: Every criterion, by id.
CRITERIA: Mapping[str, type[StoppingCriterion]] = {
    criterion.id: criterion for criterion in (StandardDeviation, SampleCount, Entropy)
}


def make_criterion(criterion_id: str, values: Mapping[str, float]) -> StoppingCriterion:
    """Return a fresh criterion.

    :param values: parameters that differ from their defaults.
    :raises UsageError: no such criterion or parameter, or a value that is not a positive number.
    """
    try:
        criterion = CRITERIA[criterion_id]
    except KeyError:
        names = ", ".join(CRITERIA)
        raise UsageError(f"unknown stopping criterion {criterion_id!r}: expected one of {names}") from None
    return criterion(values)


class SamplingEnd:
    """Says when sampling is over, and why.

    :param start: when it began, by the clock of whatever follows.
    :param budget_s: seconds that are left of the kernel's timeout then.
    """

    def __init__(self, settings: TimingSettings, start: float, budget_s: float) -> None:
        self._settings = settings
        self._start = start
        self._budget_s = budget_s
        self._criterion = make_criterion(settings.criterion, settings.criterion_parameters)
        self._fewest = min(settings.min_samples, settings.fewest_samples)
        self._count = 0
        self._measured_ms = 0.0

    def after(self, sample_ms: float, launches: int, now: float, last_s: float) -> str:
        """Take a sample into account; return what ends sampling with it, or nothing.

        :param last_s: wall seconds that it took, with its flush.
        """
        settings = self._settings
        self._count += 1
        self._measured_ms += sample_ms * launches
        self._criterion.add(sample_ms)
        timed_enough = self._measured_ms >= settings.min_time_s * 1e3
        if self._count >= settings.min_samples and timed_enough and self._criterion.is_finished():
            return self._criterion.id
        if self._count >= self._fewest and timed_enough and now - self._start >= settings.max_time_s:
            return MAX_TIME
        return TIMEOUT if now - self._start + last_s > self._budget_s else ""
