"""The JSON form of a problem set."""

from __future__ import annotations

import msgspec


class LayerRecord(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One layer shape. Channels count those of one group; pads are the same on both sides."""

    name: str
    count: int
    groups: int
    out_channels: int
    in_channels: int
    filter: tuple[int, ...]
    input: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    transposed: bool = False


class SetRecord(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A whole set."""

    schema: str
    version: int
    id: str
    label: str
    ndim: int
    origin: str
    notes: tuple[str, ...]
    layers: tuple[LayerRecord, ...]
