"""Tables, conditions and comparisons of inspected kernels."""

import csv
import io
from dataclasses import replace

import pytest

from ckprof.errors import InputError, UsageError
from ckprof.kernels.inspection import InspectedKernel, Inspection, compare, read_report, render_report
from ckprof.model.device import DeviceKernel, Occupancy
from ckprof.model.gemm_work import Estimate
from ckprof.report.inspection_report import (
    comparison_document,
    condition,
    inspection_document,
    render_csv,
    row_of,
    rows_of,
    sort_rows,
)


def device_kernel(**changes):
    values = {
        **{"symbol": "_Zk", "arch": "gfx942", "vgprs": 128, "agprs": 4, "sgprs": 80, "vgpr_spills": 0},
        **{"sgpr_spills": 0, "lds_bytes": 32768, "scratch_bytes": 0, "wave_lanes": 64},
        **{"workgroup_lanes": 256, "argument_bytes": 424, "code_bytes": 1000},
        "occupancy": Occupancy(waves_per_simd=2, workgroups_per_cu=2, limited_by="lds"),
        "matrix_instructions": {"v_mfma_f32_32x32x8_f16": 64},
        "loads": {16: 3, 128: 2},
    }
    return DeviceKernel(**{**values, **changes})


ESTIMATE = Estimate(
    flops=1000,
    tile_bytes=10,
    arithmetic_intensity=3.5,
    matrix_cycles=7,
    workgroups=2,
    tile_efficiency=0.5,
    wave_efficiency=0.25,
    matrix_us=1.5,
    memory_us=2.5,
    bound_us=2.5,
    efficiency_bound=0.125,
)


def inspection(*kernels):
    return Inspection(
        target="any", arch="gfx942", api_level="2025-07", compiler="clang version 1", kernels=kernels
    )


ONE = InspectedKernel(name="one", key="k1", variants=(device_kernel(),))
TWO = InspectedKernel(
    name="two",
    key="k2",
    variants=(
        device_kernel(code_bytes=5000, vgprs=100),
        device_kernel(
            vgprs=300,
            vgpr_spills=3,
            scratch_bytes=16,
            occupancy=Occupancy(waves_per_simd=1, workgroups_per_cu=1, limited_by="vgpr"),
        ),
    ),
    estimate=ESTIMATE,
)


def test_a_kernel_shows_its_most_demanding_function():
    one, two = rows_of((ONE, TWO), variants=False)
    assert (one["vgprs"], one["spills"], one["limited_by"]) == (128, 0, "lds")
    assert (two["vgprs"], two["spills"], two["limited_by"], two["waves_per_simd"]) == (300, 3, "vgpr", 1)
    assert (two["code_bytes"], two["variants"]) == (5000, 2)
    assert one["loads"] == "3x16b 2x128b"
    assert len(rows_of((ONE, TWO), variants=True)) == 3


def test_the_table_says_that_bounds_are_estimates():
    text = inspection_document(inspection(ONE, TWO), rows_of((ONE, TWO), variants=False)).text()
    assert "gfx942, clang version 1, CK Tile API level 2025-07" in text
    assert "estimates" in text
    assert "eff bound" in text
    assert "estimates" not in inspection_document(inspection(ONE), rows_of((ONE,), variants=False)).text()
    lost = replace(inspection(ONE), unattributed=("three",))
    assert (
        "no device function found of: three"
        in inspection_document(lost, rows_of((ONE,), variants=False)).text()
    )


def test_csv_has_all_figures():
    rows = list(csv.DictReader(io.StringIO(render_csv(rows_of((ONE, TWO), variants=False)))))
    assert [row["name"] for row in rows] == ["one", "two"]
    assert rows[1]["bound_us"] == "2.5"
    assert rows[0]["bound_us"] == ""
    assert rows[0]["matrix_kinds"] == "v_mfma_f32_32x32x8_f16:64"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("spills>0", ["two"]),
        ("spills = 0", ["one"]),
        ("limited_by=lds", ["one"]),
        ("limited_by!=lds", ["two"]),
        ("vgprs<=128", ["one"]),
        ("waves_per_simd>=1", ["one", "two"]),
    ],
)
def test_conditions(text, names):
    rows = rows_of((ONE, TWO), variants=False)
    assert [row["name"] for row in rows if condition(text)(row)] == names


@pytest.mark.parametrize("text", ["spills", "spills>many", "nonsense>1", "limited_by>lds", ">1", ""])
def test_wrong_conditions_are_told(text):
    with pytest.raises(UsageError, match="--where"):
        condition(text)(rows_of((ONE,), variants=False)[0])


def test_sorting():
    rows = rows_of((ONE, TWO), variants=False)
    assert [row["name"] for row in sort_rows(rows, "vgprs")] == ["two", "one"]
    assert [row["name"] for row in sort_rows(rows, "name")] == ["one", "two"]
    with pytest.raises(UsageError, match="--sort nonsense"):
        sort_rows(rows, "nonsense")


def test_reports_survive_a_file(tmp_path):
    path = tmp_path / "report.json"
    path.write_text(render_report(inspection(ONE, TWO)))
    assert read_report(path) == inspection(ONE, TWO)
    path.write_text("{}")
    with pytest.raises(InputError, match="not a report"):
        read_report(path)
    with pytest.raises(InputError, match="cannot read"):
        read_report(tmp_path / "missing.json")


def changed(kernel, **changes):
    return replace(kernel, variants=(replace(kernel.variants[0], **changes),))


def test_new_spills_and_lost_occupancy_are_worse():
    before = inspection(ONE, TWO)
    assert compare(before, before).changes == ()
    spilling = compare(before, inspection(changed(ONE, vgpr_spills=2), TWO))
    assert [change.field for change in spilling.worse] == ["vgpr_spills"]
    slower = Occupancy(waves_per_simd=1, workgroups_per_cu=1, limited_by="vgpr")
    assert [c.field for c in compare(before, inspection(changed(ONE, occupancy=slower), TWO)).worse] == [
        "occupancy"
    ]
    assert compare(before, inspection(changed(ONE, vgprs=100), TWO)).worse == ()
    # the way back is no loss
    assert compare(inspection(changed(ONE, vgpr_spills=2)), inspection(ONE)).worse == ()


def test_a_comparison_names_what_is_worse_first():
    after = inspection(
        changed(ONE, vgpr_spills=2, code_bytes=900),
        InspectedKernel(name="new", key="n", variants=TWO.variants),
    )
    text = comparison_document(compare(inspection(ONE, TWO), after)).text()
    lines = text.rstrip().splitlines()
    assert lines[5].split() == ["worse", "vgpr_spills", "0", "2", "one"]
    assert "only before: two" in lines
    assert "only after: new" in lines
    assert lines[-1] == "1 kernel differs, 1 of them with new spills or lost occupancy"


def test_warnings_of_the_compiler_are_shown():
    warned = replace(ONE, warnings=("ptxas info : (C7510) Potential Performance Loss: serialized",))
    found = replace(inspection(warned), kernels=(warned,))
    assert row_of(warned)["warnings"] == 1 and row_of(ONE)["warnings"] == 0
    text = inspection_document(found, [row_of(warned)]).text()
    assert "one: ptxas info : (C7510) Potential Performance Loss: serialized" in text
