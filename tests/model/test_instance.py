"""The identity of kernel configurations: all fields but the number of the record."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import ClassVar

import pytest

from ckprof.errors import PluginError
from ckprof.model.instance import Instance
from ckprof.model.types import DataType, TypeSet
from ckprof_plugins.directions._convolution.layout import find_layout


class Order(Enum):
    FIRST = "first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    m: int
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mine(Instance):
    pipeline: ClassVar[str] = "mine"
    optional_fields: ClassVar[frozenset[str]] = frozenset({"splits"})

    tile: Tile = Tile(m=64, n=32)
    order: Order = Order.FIRST
    waves: tuple[int, ...] = (2, 2)
    splits: int | None = None
    other: object = None
    derived: int = field(init=False, default=3)


LAYOUT = find_layout("nhwgc")
ONE = Mine(id=1, direction="fwd", ndim=2, layout=LAYOUT, dtype=DataType.FP16)
IDENTITY = {
    "pipeline": "mine",
    "direction": "fwd",
    "ndim": 2,
    "dtype": "fp16",
    "tile": {"m": 64, "n": 32},
    "order": "first",
    "waves": [2, 2],
    "other": None,
}


def test_the_identity_is_plain_json_of_all_fields_but_the_id():
    identity = ONE.identity()
    layout = identity.pop("layout")
    assert isinstance(layout, dict) and layout["name"] == "nhwgc"
    assert identity == IDENTITY
    assert replace(ONE, splits=4).identity() == {**IDENTITY, "layout": layout, "splits": 4}
    assert ONE.types == TypeSet.shared(DataType.FP16) and ONE.derived_fields() == {}


def test_the_key_is_a_hash_of_the_identity():
    """Written down, so that no change of the code gives stored measurements other keys."""
    text = json.dumps(ONE.identity(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert ONE.key == hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    assert replace(ONE, id=7).key == ONE.key and ONE.key is ONE.key
    changes = ({"tile": Tile(m=64, n=64)}, {"splits": 1}, {"direction": "bwd_data"}, {"dtype": DataType.BF16})
    keys = {replace(ONE, **change).key for change in changes} | {ONE.key}
    assert len(keys) == len(changes) + 1


def test_fields_without_nesting_have_the_layout_s_name():
    assert ONE.fields() == {
        **{name: value for name, value in IDENTITY.items() if name != "tile"},
        **{"tile_m": 64, "tile_n": 32, "layout": "nhwgc"},
    }


def test_a_field_that_json_has_not_is_the_plugin_s_fault():
    with pytest.raises(PluginError, match="pipeline 'mine': a field of Mine has no form in JSON"):
        _ = replace(ONE, other=object()).key
