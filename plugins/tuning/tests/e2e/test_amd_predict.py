"""``ckprof predict`` with kernels from real CK Tile headers."""

import json
from math import exp

import pytest

from ckprof_plugins.tuning.predicted_interval import WIDEST
from tests.e2e.catalogs import write_catalog

pytest.importorskip("ckprof_plugins.emulator")

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(1500)]

ARCH = "gfx942"
TARGET = ("--target", "hip", "--arch", ARCH)
PROBLEM = "convfp16 -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
#: eight times as many images
LARGER = PROBLEM.replace("-n 4", "-n 32")
#: its channels do not suit the vectors
UNSUPPORTED = PROBLEM.replace("-c 64", "-c 63")


@pytest.fixture
def catalog(tmp_path):
    return write_catalog(
        tmp_path / "two.json", "forward", [{"pipeline": "compv1"}, {"pipeline": "compv1", "tile_m": 128}]
    )


def _predicted(ckprof, catalog, *more, code=0):
    called = ckprof("predict", "fwd", "--conf", catalog, *TARGET, *more, "--format", "json", timeout=1200)
    assert called.code == code, called.err
    return json.loads(called.out)


@pytest.mark.slow
def test_kernels_are_ranked_by_predicted_times(ckprof, catalog, tmp_path):
    answer = _predicted(ckprof, catalog, "--problem", PROBLEM, "--problem", LARGER)
    assert (answer["schema"], answer["model"], answer["predicted"]) == ("ckprof-prediction", "MI300X", True)
    small, large = (problem["kernels"] for problem in answer["problems"])
    for kernels in (small, large):
        times = [kernel["predicted_us"] for kernel in kernels]
        assert times == sorted(times)
        for kernel in kernels:
            assert 0 < kernel["ceiling_share"] < 1
            low, high = kernel["interval_us"]
            assert low * high == pytest.approx(kernel["predicted_us"] ** 2)
            assert high / low == pytest.approx(exp(2 * WIDEST))
            assert kernel["limit"]
            assert all(0 <= share <= 1 for share in kernel["busy"].values())
    by_key = {kernel["key"]: kernel["predicted_us"] for kernel in small}
    assert all(kernel["predicted_us"] > by_key[kernel["key"]] for kernel in large)
    # 4 * 28 * 28 rows in tiles of 64 and of 128, 64 columns
    assert sorted(kernel["workgroups"] for kernel in small) == [25, 49]
    again = _predicted(ckprof, catalog, "--problem", PROBLEM, "--problem", LARGER)
    assert again == answer
    # a prediction is nothing that is measured
    report = tmp_path / "predicted.json"
    report.write_text(json.dumps(answer))
    refused = ckprof("results", "import", report, "--store", tmp_path / "store.db")
    assert refused.code == 3, refused.err


@pytest.mark.slow
def test_products_hot_instructions_and_tables(ckprof, catalog):
    fewer = _predicted(ckprof, catalog, "--problem", LARGER, "--gpu", "MI308X", "--hot", "5")
    usual = _predicted(ckprof, catalog, "--problem", LARGER)
    fastest = [answer["problems"][0]["kernels"][0] for answer in (fewer, usual)]
    # 80 compute units instead of 304
    assert fastest[0]["predicted_us"] > 1.5 * fastest[1]["predicted_us"]
    assert len(fastest[0]["hot"]) == 5
    shown = ckprof("predict", "fwd", "--conf", catalog, *TARGET, "--problem", PROBLEM, timeout=1200).ok()
    assert "predicted for MI300X (gfx942) from machine code; nothing was measured" in shown.out
    ckprof("predict", "fwd", "--conf", catalog, *TARGET, "--problem", PROBLEM, "--gpu", "MI1").fails_with(
        2, "MI300X"
    )


def test_what_is_not_supported_is_no_failure_unless_nothing_is(ckprof, catalog):
    # one kernel, which other tests compile as well
    both = ("--instance", "0", "--problem", PROBLEM, "--problem", UNSUPPORTED)
    answer = _predicted(ckprof, catalog, *both, code=1)
    predicted, unsupported = ([*problem["kernels"]] for problem in answer["problems"])
    assert [kernel["status"] for kernel in (*predicted, *unsupported)] == ["predicted", "unsupported"]
    assert unsupported[0]["reason"]


@pytest.mark.slow
def test_a_model_of_predicted_times_alone(ckprof, catalog, tmp_path):
    problems = tmp_path / "problems.txt"
    sizes = [(batch, image) for batch in (1, 2, 8, 32) for image in (14, 28, 56)]
    lines = [PROBLEM.replace("-n 4", f"-n {n}").replace("-H 28 -W 28", f"-H {s} -W {s}") for n, s in sizes]
    problems.write_text("\n".join(lines) + "\n")
    predicted, model = tmp_path / "predicted.json", tmp_path / "model.json"
    asked = ("--conf", catalog, *TARGET, "--problems", problems, "--format", "json", "-o", predicted)
    ckprof("predict", "fwd", *asked, timeout=1200).ok()
    kind = ("--direction", "fwd", "--dtype", "fp16")
    trained = ckprof("train", "--predicted", predicted, *kind, "-o", model).ok()
    assert "24 of them predicted from machine code, not measured, 0 measured" in trained.out
    document = json.loads(model.read_text())
    assert (document["device"], document["compute_units"]) == ("gfx942", 304)
    chosen = ckprof("select", "fwd", "--model", model, "--conf", catalog, *TARGET, "--problem", PROBLEM).ok()
    assert "predicted from machine code, not measured" in chosen.err
    # the formulas say of the problem about what the machine code does
    times = {
        kernel["key"]: kernel["predicted_us"]
        for problem in json.loads(predicted.read_text())["problems"]
        for kernel in problem["kernels"]
        if problem["sizes"]["batch"] == 8 and problem["sizes"]["input"] == [28, 28]
    }
    listed = ckprof(
        *("select", "fwd", "--model", model, "--conf", catalog, *TARGET, "--no-support-check"),
        *("--problem", PROBLEM.replace("-n 4", "-n 8"), "--format", "json"),
    )
    kernels = json.loads(listed.out)["kernels"]
    assert len(kernels) == len(times) == 2
    for kernel in kernels:
        assert kernel["predicted_us"] == pytest.approx(times[kernel["key"]], rel=0.25)
