"""The table of architectures: what it holds, how it is extended, what is said of a wrong one."""

import json

import pytest

from ckprof.errors import InputError, UsageError
from ckprof.model import architecture as architectures
from ckprof.model.types import DataType
from ckprof.plugin.protocols import RuleSetRequest
from ckprof_plugins.rule_sets.full import FullRuleSet

ENTRY = {
    "label": "made up",
    "compute_units": 12,
    "simds_per_cu": 4,
    "waves_per_simd": 8,
    "lanes_per_wave": 64,
    "lds_kib": 64,
    "wave_grids": ["2x2x1"],
    "mma_tiles": {"fp16": ["32x32x16"]},
}


def written(path, entry, name="gfx999"):
    document = {
        "schema": architectures.SCHEMA,
        "version": architectures.VERSION,
        "architectures": {name: entry},
    }
    return json.dumps(document).encode(), path


@pytest.fixture
def add(tmp_path):
    """Add a file with one record to the table until the test ends."""

    def call(entry, name="gfx999", file="mine.json"):
        path = tmp_path / file
        path.write_bytes(written(path, entry, name)[0])
        architectures.use_files([path])
        return path

    yield call
    architectures.use_files([])


def test_facts():
    known = architectures.architectures()
    assert {"gfx90a", "gfx942", "gfx950", "gfx1201", "gfx1250"} <= set(known)
    lanes = {name: arch.lanes_per_wave for name, arch in known.items()}
    assert {name for name, count in lanes.items() if count == 64} == {"gfx908", "gfx90a", "gfx942", "gfx950"}
    assert known["gfx950"].lds_bytes == 160 * 1024
    assert (8, 2, 1) in known["gfx950"].wave_grids and (8, 2, 1) not in known["gfx942"].wave_grids
    assert known["gfx1201"].mma_tiles["fp16"] == ((16, 16, 16),)
    able = {name for name, arch in known.items() if "stream_k" in arch.capabilities}
    assert able == {"gfx90a", "gfx942", "gfx950", "gfx1250"}
    assert known["gfx1250"].note and known["gfx1250"].machine is None


def test_names_with_features_and_misspelled_ones():
    assert architectures.find_architecture("gfx942:sramecc+:xnack-") is architectures.find_architecture(
        "gfx942"
    )
    with pytest.raises(UsageError, match=r"unknown architecture 'gfx924'; did you mean 'gfx942'\?"):
        architectures.find_architecture("gfx924")


def test_a_new_entry_is_all_that_a_new_architecture_needs(tmp_path):
    made_up = architectures.read_table(*written(tmp_path, ENTRY), {}, set())["gfx999"]
    request = RuleSetRequest(
        arch=made_up, directions=("fwd",), ndims=(2,), dtypes=(DataType.FP16,), read_lists=lambda folder: ()
    )
    instances = [entry.instance for entry in FullRuleSet().enumerate(request)]
    gemm = [i for i in instances if hasattr(i, "wave_grid")]
    assert len(gemm) > 50
    assert {(str(i.wave_grid), str(i.mma_tile)[:5]) for i in gemm} == {("2x2x1", "32x32")}


def test_a_file_adds_a_record_that_takes_fields_of_another(add):
    add({"like": "gfx950", "label": "half a chip", "compute_units": 128, "capabilities": []})
    found = architectures.find_architecture("gfx999:xnack-")
    original = architectures.find_architecture("gfx950")
    assert (found.name, found.label, found.compute_units) == ("gfx999", "half a chip", 128)
    assert not found.capabilities and original.capabilities
    assert (found.lds_bytes, found.mma_tiles, found.machine) == (
        original.lds_bytes,
        original.mma_tiles,
        original.machine,
    )
    assert list(architectures.architectures())[-1] == "gfx999"
    architectures.use_files([])
    with pytest.raises(UsageError, match="unknown architecture 'gfx999'"):
        architectures.find_architecture("gfx999")


def test_a_wrong_file_leaves_the_table_as_it_was(add, tmp_path):
    add(ENTRY)
    with pytest.raises(InputError, match=r"other.json: gfx942 is in .*architectures.json already"):
        add(ENTRY, name="gfx942", file="other.json")
    with pytest.raises(InputError, match=r"none.json: cannot read"):
        architectures.use_files([tmp_path / "none.json"])
    assert architectures.find_architecture("gfx999").compute_units == 12


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lanes_per_wave": 0}, "gfx999.lanes_per_wave is 0, expected 1 or more"),
        ({"wave_grids": ["2x2"]}, "gfx999.wave_grids: expected three positive sizes"),
        ({"mma_tiles": {"fp16": ["32x0x8"]}}, "gfx999.mma_tiles.fp16: expected three positive sizes"),
        ({"colour": "red"}, "gfx999: .*unknown field `colour`"),
        ({"capabilities": ["stream_q"]}, "gfx999.capabilities: unknown capability 'stream_q'"),
        ({"like": "gfx941"}, "gfx999.like: unknown architecture 'gfx941'"),
    ],
)
def test_wrong_entries(changes, message, tmp_path):
    with pytest.raises(InputError, match=message):
        architectures.read_table(*written(tmp_path, {**ENTRY, **changes}), {}, set())


def test_another_schema(tmp_path):
    with pytest.raises(InputError, match="the schema is 'other', expected 'ckprof-architectures'"):
        architectures.read_table(
            b'{"schema": "other", "version": 1, "architectures": {}}', tmp_path, {}, set()
        )
