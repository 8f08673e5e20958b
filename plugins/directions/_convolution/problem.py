"""The problem of convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from ckprof.errors import InputError
from ckprof_plugins.directions._convolution.convolution import SIZE_NAMES, Convolution, joined

if TYPE_CHECKING:
    from ckprof.model.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvProblem(Convolution):
    """A grouped convolution and nothing else.

    :raises InputError: a size is not positive, a pad is negative, lengths differ, or the output is empty.
    """

    column_types: ClassVar[Mapping[str, type[int] | type[str]]] = MappingProxyType(
        {
            **dict.fromkeys("GNKC", int),
            **dict.fromkeys(("filter", "input", "strides", "dilations", "left_pads", "right_pads"), str),
        }
    )

    def columns(self) -> dict[str, int | str]:
        """Return the channels, and lengths along the axes joined with ``x``."""
        channels = zip("GNKC", (getattr(self, name) for name in SIZE_NAMES[:4]), strict=True)
        return {**dict(channels), **{name: joined(getattr(self, name)) for name in SIZE_NAMES[4:]}}

    #: What problem sets say of a layer: pads are the same on both sides, the batch is the user's.
    layer_fields: ClassVar[frozenset[str]] = frozenset(
        {"groups", "out_channels", "in_channels", "filter", "input", "strides", "dilations", "pads"}
    )

    @classmethod
    def of_layer(cls, values: Mapping[str, Any], batch: int) -> ConvProblem:
        """Return the convolution of a layer.

        :raises InputError: there is no such convolution, or a value has a wrong type.
        """
        import msgspec

        sizes = {name: value for name, value in values.items() if name != "pads"}
        pads = values["pads"]
        try:
            return msgspec.convert({**sizes, "left_pads": pads, "right_pads": pads, "batch": batch}, cls)
        except msgspec.ValidationError as exc:
            raise InputError(str(exc)) from None

    #: Columns of tables of measured times; N, C and K are those of all groups.
    table_columns: ClassVar[Mapping[str, int | None]] = MappingProxyType(
        {
            **{name: None for name in ("N", "C", "K", "G", "Hi", "Wi", "Y", "X")},
            **{"stride_h": 1, "stride_w": 1, "pad_h": 0, "pad_w": 0, "dilation_h": 1, "dilation_w": 1},
            **{"Di": 1, "Z": 1, "stride_d": 1, "pad_d": 0, "dilation_d": 1},
        }
    )

    @classmethod
    def of_table(cls, values: Mapping[str, int]) -> ConvProblem:
        """Return the convolution of a row: a 2D one, unless it has a depth.

        :raises InputError: channels are no multiples of the groups, or there is no such convolution.
        """
        groups = max(1, values["G"])
        for name in "CK":
            if values[name] % groups:
                raise InputError(f"{name} is {values[name]}, not a multiple of G = {groups}")
        solid = values["Di"] > 1 or values["Z"] > 1

        def along(names: str) -> tuple[int, ...]:
            return tuple(values[name] for name in names.split())

        def by_axis(prefix: str) -> tuple[int, ...]:
            return tuple(values[f"{prefix}_{axis}"] for axis in ("dhw" if solid else "hw"))

        return ConvProblem(
            groups=values["G"],
            batch=values["N"],
            out_channels=values["K"] // groups,
            in_channels=values["C"] // groups,
            filter=along("Z Y X" if solid else "Y X"),
            input=along("Di Hi Wi" if solid else "Hi Wi"),
            strides=by_axis("stride"),
            dilations=by_axis("dilation"),
            left_pads=by_axis("pad"),
            right_pads=by_axis("pad"),
        )


def as_convolution(problem: Problem) -> ConvProblem:
    """Return a problem as what it must be where only convolutions are known.

    :raises InputError: it is one of another operation.
    """
    if not isinstance(problem, ConvProblem):
        raise InputError(f"{problem.describe()}: expected a problem of a convolution")
    return problem
