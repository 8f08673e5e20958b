"""Pages of kernels and of times from real CK Tile headers."""

import json

import pytest

from ckprof.store.store import Store
from tests.e2e.catalogs import write_catalog

pytest.importorskip("ckprof_plugins.emulator")

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(1500)]

TARGET = ("--target", "hip", "--arch", "gfx942")
PROBLEM = "convfp16 -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
SMALL = "convfp16 -n 1 -c 40 -H 5 -W 7 -k 24 -y 3 -x 3 -p 1 -q 1 -F 1"


@pytest.fixture
def catalog(tmp_path):
    return write_catalog(
        tmp_path / "two.json", "forward", [{"pipeline": "compv1"}, {"pipeline": "compv1", "tile_m": 128}]
    )


def _predicted(ckprof_process, catalog, *more):
    called = ckprof_process(
        "predict", "fwd", "--conf", catalog, *TARGET, *more, "--format", "json", timeout=1200
    )
    assert called.code == 0, called.err
    return json.loads(called.out)


@pytest.mark.slow
def test_a_page_of_a_kernel(ckprof_process, catalog, tmp_path):
    page, values = tmp_path / "page.html", tmp_path / "page.json"
    asked = ("inspect", "fwd", "--conf", catalog, *TARGET, "--problem", PROBLEM)
    one = (*asked, "--instance", "0")
    called = ckprof_process(*one, "--page", page, timeout=1200)
    assert called.code == 0, called.err
    text = page.read_text()
    assert "predicted from machine code, not measured" in text
    assert "v_mfma_f32_" in text
    called = ckprof_process(*one, "--page", values, timeout=1200)
    assert called.code == 0, called.err
    content = json.loads(values.read_text())
    assert (content["schema"], content["predicted"]) == ("ckprof-profile", True)
    predicted = _predicted(ckprof_process, catalog, "--instance", "0", "--problem", PROBLEM)
    (kernel,) = predicted["problems"][0]["kernels"]
    assert content["time"]["time_us"] == kernel["predicted_us"]
    # the function that was launched is one of those whose registers are known
    assert content["function"]["symbol"] == content["profile"]["symbol"]
    assert sum(one["share"] for one in content["profile"]["instructions"]) == pytest.approx(1)
    printed = ckprof_process(*one, "--page", "-", timeout=1200)
    assert "at once on a compute unit" in printed.out
    assert "bounds are estimates" not in printed.out
    folder = tmp_path / "pages"
    folder.mkdir()
    called = ckprof_process(*asked, "--page", folder, timeout=1200)
    assert called.code == 0, called.err
    assert len([*folder.glob("*.html")]) == 2
    refused = ckprof_process(*asked, "--page", page)
    assert refused.code == 2
    assert "a page shows one kernel, 2 are chosen" in refused.err


def test_reports_say_whose_times_an_emulated_device_has(ckprof_process, tmp_path):
    catalog = write_catalog(tmp_path / "one.json", "forward", [{"pipeline": "compv1"}])
    rounds = ("--min-rounds", "1", "--max-rounds", "1", "--device", "emulated", "--store", "r.db")
    swept = ckprof_process(
        "sweep", "fwd", "--conf", catalog, *TARGET, "--problem", SMALL, *rounds, timeout=1200
    )
    assert swept.code == 0, swept.err
    with Store(tmp_path / "r.db") as store:
        assert len(store) == 1
    report = ckprof_process("report", "r.db")
    assert report.code == 0, report.err
    assert "emulated: times of" in report.out
