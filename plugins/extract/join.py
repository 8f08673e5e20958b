"""Finds which tuples, with which parameters, make up the instances that a function was compiled with.

The archive says what a function adds but not in which order; the headers know the order but not the function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof_plugins.extract.tuples import SLOT

if TYPE_CHECKING:
    from ckprof_plugins.extract.readable import Instance
    from ckprof_plugins.extract.tuples import InstanceTuples, Pattern
    from ckprof_plugins.extract.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One tuple with the parameters that a function gives it."""

    pattern: Pattern
    #: parameter -> value
    values: Mapping[str, str]
    instances: tuple[Instance, ...]

    @classmethod
    def of(cls, pattern: Pattern, values: Mapping[str, str]) -> Use:
        """Return the use of a tuple with these values.

        :raises InputError: a parameter has no value.
        """
        return cls(pattern=pattern, values=values, instances=pattern.bind(values))

    def enumerators(self, vocabulary: Vocabulary) -> tuple[int, ...]:
        """Return the numbers of the enumerators among the values, which uses of one tuple are sorted by."""
        enumerations = vocabulary.enumerations
        return tuple(
            enumerations[kind].index(self.values[name])
            for name, kind in self.pattern.parameters.items()
            if kind in enumerations
        )


class JoinError(InputError):
    """Headers and archive do not agree about a function."""


def fitting(pattern: Pattern, compiled: frozenset[Instance]) -> list[Use]:
    """Return the uses of a tuple whose instances were all compiled.

    The parameters follow from the compiled instances that the first element of the tuple may be.
    """
    if not pattern.instances or len(pattern.instances) > len(compiled):
        return []
    first = pattern.instances[0]
    uses: dict[tuple[str, ...], Use] = {}
    for instance in compiled:
        values = _bindings(first, instance)
        if values is None:
            continue
        bound = {**pattern.defaults, **values}
        if any(name not in bound for name in pattern.parameters):
            continue
        identity = tuple(bound[name] for name in pattern.parameters)
        if identity in uses:
            continue
        use = Use.of(pattern, bound)
        if compiled.issuperset(use.instances):
            uses[identity] = use
    return list(uses.values())


def _bindings(pattern: Instance, instance: Instance) -> dict[str, str] | None:
    if pattern.device != instance.device or len(pattern.arguments) != len(instance.arguments):
        return None
    values: dict[str, str] = {}
    for open_, value in zip(pattern.arguments, instance.arguments, strict=True):
        if open_ == value:
            continue
        if not open_.startswith(SLOT):
            if SLOT in open_:
                continue  # a parameter inside another argument: compared once it is bound
            return None
        if values.setdefault(open_[len(SLOT) :], value) != value:
            return None
    return values


def cover(
    function: str, compiled: Iterable[Instance], candidates: Sequence[str], tuples: InstanceTuples
) -> tuple[Use, ...]:
    """Return the uses that make up a function's instances, in no particular order.

    The longest tuples are taken first: a tuple of one generic instance is often contained in a larger one.

    :param candidates: aliases to try.
    :raises JoinError: some instances are in no tuple that fits.
    """
    everything = frozenset(compiled)
    devices = {item.device for item in everything}
    uses: list[Use] = []
    for alias in candidates:
        if tuples.devices(alias) <= devices:
            uses.extend(fitting(tuples.pattern(alias), everything))
    uses.sort(key=lambda use: (-len(use.instances), use.pattern.rank, tuple(use.values.items())))
    left = set(everything)
    taken = []
    for use in uses:
        if not left:
            break
        if not left.isdisjoint(use.instances):
            taken.append(use)
            left.difference_update(use.instances)
    if left:
        sample = min(left)
        raise JoinError(
            f"{function}: {len(left)} of {len(everything)} compiled instances are in no tuple of the "
            f"headers; the first is {sample.device}<{', '.join(sample.arguments)}>"
        )
    return tuple(taken)


def in_order(uses: Iterable[Use], vocabulary: Vocabulary) -> tuple[Use, ...]:
    """Sort the uses of one function.

    Tuples for the double-rate instructions (``_2x``) stand first, then follow the declarations; the uses of
    one tuple follow the values of its enumerations.
    """

    def key(use: Use) -> tuple[object, ...]:
        return (not use.pattern.alias.endswith("_2x"), use.pattern.rank, use.enumerators(vocabulary))

    return tuple(sorted(uses, key=key))
