"""``ckprof train``, ``validate`` and ``select``, as users call them."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode
from ckprof.model.types import DataType
from ckprof.store.key import KernelKey, OperationKey
from ckprof.store.writer import StoreWriter
from tests.cli.test_mistakes_with_products import write_catalog
from tests.measured import Made, attempts
from tests.places import TESTS
from tests.store.test_damage import damaged, make_sound

MEASURED = TESTS / "data" / "measured"
TABLE_20 = str(MEASURED / "gfx950_fwd_bf16_20kernels.csv")
TABLE_30 = str(MEASURED / "gfx950_fwd_bf16_30kernels_even.csv")
TRAIN = ("--direction", "fwd", "--dtype", "bf16", "--compute-units", "256")
PROBLEM = "conv -n 1 -c 16 -H 5 -W 5 -k 16 -y 1 -x 1 -F 1"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.json"
    assert main(["train", TABLE_20, *TRAIN, "-o", str(path)]) == 0
    return path


def test_train_and_validate(model, capsys):
    capsys.readouterr()
    assert main(["validate", str(model), TABLE_30, "--training", TABLE_20, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["shapes"], found["kernels"], len(found["derived_kernels"])) == (86, 30, 10)
    assert found["p10"] <= found["mean"] <= found["noise_ceiling"]["mean"] <= 1
    # the figures follow from the choices
    efficiencies = [one["best_us"] / one["time_us"] for one in found["choices"]]
    assert sum(efficiencies) / 86 == pytest.approx(found["mean"])
    assert found["best_single"]["mean"] < found["nearest_neighbour"]["mean"] < found["mean"]
    assert main(["validate", str(model), TABLE_30]) == 0
    text = capsys.readouterr().out
    assert "noise ceiling" in text
    assert "86 problems, 30 kernels, 10 of them unknown to the model" in text


def test_train_reports_what_it_did(tmp_path, capsys):
    path = tmp_path / "model.json"
    assert main(["train", TABLE_30, TABLE_20, *TRAIN, "-o", str(path), "--format", "json"]) == 0
    done = capsys.readouterr()
    found = json.loads(done.out)
    assert (found["shapes"], found["kernels"], found["device"]) == (271, 30, "gfx950")
    assert len(found["dropped"]) == done.err.count("is a glitch") == 4
    document = json.loads(path.read_text())
    assert document["compute_units"] == 256
    assert document["quality"]["mean"] == found["cross_validation"]["mean"]
    assert len(document["origin"]["digest"]) == 32


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train", "absent.csv", *TRAIN, "-o", "m.json"], 3, "absent.csv: cannot read"),
        (["train", TABLE_30, "--direction", "sideways", "--dtype", "bf16", "-o", "m.json"], 2, "sideways"),
        (["train", TABLE_30, "--direction", "fwd", "--dtype", "bf17", "-o", "m.json"], 2, "bf17"),
        (["validate", "absent.json", TABLE_30], 3, "absent.json: cannot read"),
        (["validate", TABLE_30, TABLE_30], 3, "not a model of 'ckprof train'"),
    ],
)
def test_wrong_input(arguments, code, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == code
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_model_of_another_device(model, tmp_path, capsys):
    table = tmp_path / "gfx942.csv"
    table.write_text("\n".join(Path(TABLE_30).read_text().splitlines()[1:]))
    assert main(["validate", str(model), str(table)]) == 3
    assert "trained on gfx950" in capsys.readouterr().err
    assert main(["validate", str(model), str(table), "--force"]) == 0


def test_select_without_a_compiler(model, capsys):
    select = ["select", "fwd", "--model", str(model), "--conf", "forward/tests/nhwgc_bf16"]
    select += ["--problem", PROBLEM, "--no-support-check"]
    assert main([*select, "--arch", "gfx942"]) == 3
    assert "trained on gfx950" in capsys.readouterr().err
    assert main([*select, "--arch", "gfx950", "--top", "2", "--format", "json"]) == 0
    done = capsys.readouterr()
    found = json.loads(done.out)
    first, second = found["kernels"]
    assert 0 < first["predicted_us"] <= second["predicted_us"]
    assert 0 < first["uncertainty"] < 10
    assert first["measured_us"] is None
    # 25 pixels and 16 channels: both less than any problem of the training table
    assert "m = 25 is outside the trained range" in done.err
    assert main([*select, "--arch", "gfx950", "--measure", "1"]) == 2
    assert main([*select, "--arch", "gfx950", "--filter", "dtype == 'fp16'"]) == 2


@pytest.mark.thorough
@pytest.mark.compiler
def test_select_takes_only_what_supports_the_problem_and_measures_it(model, capsys):
    # kernels 13 and 14 demand a filter of 1x1; the problem's is 3x3
    select = [
        "select",
        "fwd",
        "--model",
        str(model),
        "--conf",
        "forward/tests/nhwgc_bf16",
        "--arch",
        "gfx950",
    ]
    select += ["--problem", PROBLEM.replace("-y 1 -x 1", "-y 3 -x 3"), "--format", "json"]
    chosen = [word for number in (12, 13, 14) for word in ("--instance", str(number))]
    assert main([*select, *chosen, "--measure", "2"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    # what was built to be asked is not built again, and is counted once
    assert re.findall("built.*", printed.err) == ["built 3 kernels, once each, to ask what they support"]
    (only,) = found["kernels"]
    assert only["name"].endswith("vec2_1_2")
    assert only["status"] == "ok"
    assert only["measured_us"] > 0
    assert set(found["unsupported"]) <= {name for name in found["unsupported"] if "filter1x1" in name}
    assert main([*select, "--instance", "13"]) == 1
    assert "none of the 1 kernel supports the problem" in capsys.readouterr().err


def test_choosing_imports_no_numpy(model):
    code = (
        "import sys; from pathlib import Path\n"
        "from ckprof_plugins.tuning.time_model.model_file import read_model\n"
        "from ckprof_plugins.tuning.time_model.selector import Selector\n"
        "from plugins.tuning.tests.sizes import forward_sizes\n"
        "from ckprof_plugins.directions._convolution.problem import ConvProblem\n"
        f"model = read_model(Path({str(model)!r}))\n"
        "offered = {name: one.traits for name, one in model.kernels.items()}\n"
        "problem = ConvProblem(groups=1, batch=1, out_channels=64, in_channels=64, filter=(1, 1),\n"
        "    input=(8, 8), strides=(1, 1), dilations=(1, 1), left_pads=(0, 0), right_pads=(0, 0))\n"
        "print(Selector(model, offered, forward_sizes).best(problem))\n"
        "assert not {'numpy', 'scipy', 'jinja2', 'lightgbm'} & set(sys.modules), sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_model_of_kernels_of_another_target(tmp_path, capsys):
    pytest.importorskip("ckprof_plugins.cuda")
    path = tmp_path / "h200.json"
    table = str(MEASURED / "h200_bwd_weight_bf16_train.csv")
    train = ["train", table, "--direction", "bwd_weight", "--dtype", "bf16", "--arch", "h200"]
    assert (
        main([*train, "--target", "cuda", "--compute-units", "132", "-o", str(path), "--format", "json"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert (found["device"], found["target"]) == ("h200", "cuda")
    document = json.loads(path.read_text())
    assert {one["traits"]["labels"][0] for one in document["kernels"]} == {"engine W", "engine M"}
    select = ["select", "bwd_weight", "--model", str(path), "--conf", "backward_weight/profiler/nhwgc_bf16"]
    select += ["--problem", PROBLEM.replace("-F 1", "-F 4"), "--no-support-check"]
    assert main(select) == 3
    assert "ran on target cuda" in capsys.readouterr().err
    # nothing is compiled, so no GPU and no nvcc are needed
    assert main([*select, "--target", "cuda", "--format", "json"]) == 0
    first = json.loads(capsys.readouterr().out)["kernels"][0]
    assert first["splits"] in (1, 4, 16, 64)


def test_unknown_target(capsys, tmp_path):
    assert main(["train", TABLE_30, *TRAIN, "--target", "abacus", "-o", str(tmp_path / "m.json")]) == 2
    assert "abacus" in capsys.readouterr().err


def test_an_inspection_of_other_kernels(model, tmp_path, capsys):
    report = tmp_path / "report.json"
    content = {"target": "hip", "arch": "gfx950", "api_level": "2026-06", "compiler": "", "kernels": []}
    report.write_text(json.dumps({"schema": "ckprof-inspection", "version": 1, "inspection": content}))
    train = ["train", TABLE_30, *TRAIN, "--inspection", str(report), "-o", str(tmp_path / "m.json")]
    assert main(train) == 3
    assert "about none of the kernels" in capsys.readouterr().err


def test_what_a_model_was_not_trained_on_is_warned_of(model, capsys):
    capsys.readouterr()
    assert main(["validate", str(model), TABLE_30, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    parts = [found[name] for name in ("coverage", "warned_coverage")]
    assert sum(one["times"] for one in parts) == 86 * 30
    # the ten kernels of an unknown pipeline have a warning on every problem
    assert parts[1]["times"] >= 86 * 10
    assert all(one["share"] == one["inside"] / one["times"] > 0.9 for one in parts)
    tune = ["tune", "fwd", "--dtype", "bf16", "--replay", TABLE_30, "--model", str(model)]
    assert main([*tune, "--budget", "1s"]) == 0
    told = capsys.readouterr().err
    assert "of 86 problems are unlike the training data" in told
    assert "10 of 30 kernels are unlike the training data" in told


def test_one_kernel_alone_has_no_efficiency(model, tmp_path, capsys):
    lines = [line.split(",") for line in Path(TABLE_30).read_text().splitlines() if line[0] != "#"]
    last = lines[0].index("64x64x64_compv3")
    first = lines[0].index("16x64x64_compv3")
    table = tmp_path / "gfx950.csv"
    table.write_text("\n".join(",".join([*pairs[:first], pairs[last]]) for pairs in lines))
    assert main(["validate", str(model), str(table)]) == 0
    text = capsys.readouterr().out
    assert "86 problems were measured with one kernel alone: nothing to choose among" in text
    assert "100.00 %" not in text
    assert main(["train", str(table), *TRAIN, "-o", str(tmp_path / "m.json")]) == 0
    assert "no cross-validation: it needs 32 problems" in capsys.readouterr().out


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return make_sound(tmp_path_factory.mktemp("sound"))


def test_a_store_says_direction_and_type_itself(ckprof, tmp_path):
    """The made-up kernels are of no configuration: a refusal says which times were looked for."""
    made = [*attempts(Made(problems=1, instances=1, rounds=1))]
    others = [
        replace(
            one,
            session=replace(one.session, uid="b" * 32),
            key=replace(
                one.key, operation=OperationKey(direction="bwd_data"), kernel=KernelKey(instance="1" * 32)
            ),
            kernel=replace(one.kernel, dtype=DataType.BF16),
        )
        for one in made
    ]
    with StoreWriter(tmp_path / "one.db") as writer:
        writer.append_many(made)
    with StoreWriter(tmp_path / "two.db") as writer:
        writer.append_many([*made, *others])
    train = ("train", "-o", "m.json")
    ckprof(*train, "one.db").fails_with(3, "one.db: it holds no verified time of fwd fp16")
    several = "the stores have times of bwd_data bf16, fwd fp16: choose with --direction and --dtype"
    ckprof(*train, "two.db").fails_with(2, several)
    ckprof(*train, "two.db", "--dtype", "bf16").fails_with(3, "no verified time of bwd_data bf16")
    for call in ((*train, TABLE_20, "--direction", "fwd"), (*train, "one.db", "--dtype", "fp32")):
        ckprof(*call).fails_with(2, "--direction and --dtype are missing: only stores say them")


@pytest.mark.parametrize("seed", range(10))
def test_training(sound, tmp_path, seed):
    path = damaged(sound, tmp_path, seed)
    train = ["train", "--direction", "fwd", "--dtype", "fp16", str(path), "-o", str(tmp_path / "model.json")]
    assert main(train) in (ExitCode.OK, ExitCode.FAILED, ExitCode.INPUT)


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["tune", "gemm", "--conf", "one.json"], 2, "--store FILE is missing"),
        (
            ["train", "none.csv", "--direction", "gemm", "--dtype", "fp16", "-o", "m.json"],
            3,
            "none.csv: cannot read: No such file or directory",
        ),
    ],
)
def test_mistakes_are_said(arguments, code, part, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_catalog(Path("one.json"))
    assert main(arguments) == code
    assert part in capsys.readouterr().err
    assert {*Path().iterdir()} == {Path("one.json")}
