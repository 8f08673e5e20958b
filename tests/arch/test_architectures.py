"""The table of architectures: what it holds, how it is extended, what is said of a wrong one."""

from __future__ import annotations

import json

import pytest

from ckprof.arch import architectures
from ckprof.errors import InputError, UsageError
from ckprof.model.dtype import DataType
from ckprof.plugin.protocols import RuleSetRequest
from ckprof_plugins.rule_sets.full import FullRuleSet

ENTRY = {
    "label": "made up",
    "lanes_per_wave": 64,
    "lds_kib": 64,
    "wave_grids": ["2x2x1"],
    "mma_tiles": {"fp16": ["32x32x16"]},
}


def written(path, entry):
    document = {
        "schema": architectures.SCHEMA,
        "version": architectures.VERSION,
        "architectures": {"gfx999": entry},
    }
    return json.dumps(document).encode(), path


def test_facts():
    known = architectures.architectures()
    assert {"gfx90a", "gfx942", "gfx950", "gfx1201", "gfx1250"} <= set(known)
    lanes = {name: arch.lanes_per_wave for name, arch in known.items()}
    assert {name for name, count in lanes.items() if count == 64} == {"gfx908", "gfx90a", "gfx942", "gfx950"}
    assert known["gfx950"].lds_bytes == 160 * 1024
    assert (8, 2, 1) in known["gfx950"].wave_grids and (8, 2, 1) not in known["gfx942"].wave_grids
    assert known["gfx1201"].mma_tiles["fp16"] == ((16, 16, 16),)


def test_features_behind_the_name_are_ignored():
    assert architectures.find_architecture("gfx942:sramecc+:xnack-") is architectures.find_architecture(
        "gfx942"
    )


def test_an_unknown_name_suggests_a_near_one():
    with pytest.raises(UsageError, match=r"unknown architecture 'gfx924'; did you mean 'gfx942'\?"):
        architectures.find_architecture("gfx924")


def test_a_new_entry_is_all_that_a_new_architecture_needs(tmp_path, monkeypatch):
    made_up = architectures.read_table(*written(tmp_path, ENTRY))["gfx999"]
    request = RuleSetRequest(
        arch=made_up, directions=("fwd",), ndims=(2,), dtypes=(DataType.FP16,), read_lists=lambda folder: ()
    )
    instances = [entry.instance for entry in FullRuleSet().enumerate(request)]
    gemm = [i for i in instances if hasattr(i, "wave_grid")]
    assert len(gemm) > 50
    assert {(str(i.wave_grid), str(i.mma_tile)[:5]) for i in gemm} == {("2x2x1", "32x32")}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lanes_per_wave": 0}, "gfx999.lanes_per_wave is 0, expected 1 or more"),
        ({"wave_grids": ["2x2"]}, "gfx999.wave_grids: expected three positive sizes"),
        ({"mma_tiles": {"fp16": ["32x0x8"]}}, "gfx999.mma_tiles.fp16: expected three positive sizes"),
        ({"colour": "red"}, "unknown field `colour`"),
    ],
)
def test_wrong_entries(changes, message, tmp_path):
    with pytest.raises(InputError, match=message):
        architectures.read_table(*written(tmp_path, {**ENTRY, **changes}))


def test_another_schema(tmp_path):
    with pytest.raises(InputError, match="expected schema ckprof-architectures version 1, got other"):
        architectures.read_table(b'{"schema": "other", "version": 1, "architectures": {}}', tmp_path)
