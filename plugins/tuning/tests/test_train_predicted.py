"""``ckprof train --predicted``: models without measured times, or with few of them."""

import json

import pytest

import ckprof
from ckprof.cli.main import main
from ckprof.model.problem_types import sizes
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.kernel_name import traits_of_name
from ckprof_plugins.tuning.measured_tables import read_csv
from ckprof_plugins.tuning.predicted_times import USUAL_HALF
from tests.places import TESTS

TABLE = TESTS / "data" / "measured" / "gfx950_fwd_bf16_30kernels_even.csv"
TRAIN = ("--direction", "fwd", "--dtype", "bf16")
#: by how much the times of the file are shorter than the device's, and by how much more those of one kernel
FASTER, WRONG, WRONG_KERNEL = 0.7, 1.6, "64x64x64_compv3"


def _file(path, distorted, *, every=1, **changes):
    """Write measured times of kernels as if they were predicted; return how many.

    :param distorted: column -> by how much its times are wrong.
    :param every: only each so many problems.
    """
    table = read_csv(TABLE, traits_of_name, (ConvProblem,))
    query = ckprof.InstanceQuery(
        rule_set="default", directions="fwd", filters='dtype == "bf16" and ndim == 2', arch="gfx950"
    )
    kernels = {}
    for kernel in ckprof.Profiler().instances(query).require().candidates:
        column = "{tile_m}x{tile_n}x{tile_k}_{gemm_pipeline}".format(**kernel.instance.fields())
        if column in table.kernels:
            kernels[column] = kernel
    problems = [
        {
            "sizes": sizes(problem),
            "kernels": [
                {
                    "key": kernel.instance.key,
                    "split_k": 1,
                    "predicted_us": table.times[index, column, 1] * distorted(column),
                }
                for column, kernel in kernels.items()
                if (index, column, 1) in table.times
            ],
        }
        for index, problem in enumerate(table.problems)
        if index % every == 0
    ]
    document = {
        "schema": "ckprof-prediction",
        "version": 1,
        "predicted": True,
        "direction": "fwd",
        "dtypes": ["bf16"],
        "arch": "gfx950",
        "compute_units": 256,
        "calibration": {"measured_times": 0},
        "instances": [
            {
                "key": kernel.instance.key,
                "name": kernel.name,
                "pipeline": kernel.instance.pipeline,
                "fields": kernel.instance.fields(),
            }
            for kernel in kernels.values()
        ],
        "problems": problems,
        **changes,
    }
    path.write_text(json.dumps(document))
    return sum(len(problem["kernels"]) for problem in problems)


def _measured(path, problems):
    """Write the first problems of the table."""
    lines = TABLE.read_text().splitlines()
    comments = [line for line in lines if line.startswith("#")]
    others = [line for line in lines if not line.startswith("#")]
    path.write_text("\n".join([*comments, *others[: problems + 1]]) + "\n")


def _judged(model, capsys):
    capsys.readouterr()
    assert main(["validate", str(model), str(TABLE), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return found


def test_a_model_of_predicted_times_alone_says_what_it_is(tmp_path, capsys):
    path, model = tmp_path / "predicted.json", tmp_path / "model.json"
    rows = _file(path, lambda column: 1.0, every=2)
    assert main(["train", "--predicted", str(path), *TRAIN, "-o", str(model)]) == 0
    said = capsys.readouterr().out
    assert f"{rows} of them predicted from machine code, not measured, 0 measured" in said
    assert "cross-validation against these times" in said
    document = json.loads(model.read_text())
    assert (document["predicted"], document["predicted_half"]) == (rows, USUAL_HALF)
    assert (document["device"], document["compute_units"]) == ("gfx950", 256)
    # what predicts well chooses well, also on the other problems
    found = _judged(model, capsys)
    assert found["mean"] > 0.95
    assert f"fitted to {rows} times that were predicted from machine code" in found["basis"]
    # intervals are wide, for predictions are farther off than the fit
    assert found["coverage"]["share"] > 0.97

    problem = "conv -n 1 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
    chosen = ["select", "fwd", "--model", str(model), "--rule-set", "default", "--dtype", "bf16"]
    chosen += ["--arch", "gfx950", "--target", "hip", "--no-support-check", "--problem", problem]
    assert main([*chosen, "--filter", "ndim == 2", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert any("predicted from machine code, not measured" in line for line in answer["warnings"])
    best = answer["kernels"][0]
    assert best["high_us"] / best["predicted_us"] > 1.5


def test_a_few_measured_times_correct_predicted_ones(tmp_path, capsys):
    path, few = tmp_path / "predicted.json", tmp_path / "few_gfx950.csv"
    alone, model = tmp_path / "alone.json", tmp_path / "model.json"
    _file(path, lambda column: FASTER / (WRONG if column == WRONG_KERNEL else 1.0), every=2)
    _measured(few, 16)
    assert main(["train", "--predicted", str(path), *TRAIN, "-o", str(alone)]) == 0
    assert main(["train", str(few), "--predicted", str(path), *TRAIN, "-o", str(model)]) == 0
    document = json.loads(model.read_text())
    # measured times take the place of predicted ones, under the names of these
    assert 0 < document["predicted"] < document["origin"]["rows"]
    names = [kernel["name"] for kernel in document["kernels"]]
    assert len(names) == len(set(names))
    assert WRONG_KERNEL not in names
    # the pairs tell better than the usual figure how far off predictions are
    assert document["predicted_half"] < USUAL_HALF
    before, after = _judged(alone, capsys), _judged(model, capsys)
    assert after["mean"] > before["mean"]
    error = {
        name: sorted(abs(one["time_us"] / one["predicted_us"] - 1) for one in found["choices"])
        for name, found in (("alone", before), ("few", after))
    }
    middle = len(error["few"]) // 2
    assert error["few"][middle] < 0.1 < 0.25 < error["alone"][middle]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": "ckprof-profile"}, "expected schema ckprof-prediction version 1"),
        ({"calibration": {"measured_times": 3}}, "would count twice: predict without --measured"),
        ({"direction": "bwd_data"}, "these times are of bwd_data bf16, not of fwd bf16"),
        ({"dtypes": ["fp16"]}, "these times are of fwd fp16"),
        ({"problems": []}, "no predicted time"),
        ({"instances": []}, "it does not describe kernel"),
        ({"arch": "gfx942"}, "predicted for gfx942, the others are measured on gfx950"),
    ],
)
def test_wrong_files_are_refused(changes, message, tmp_path, capsys):
    path = tmp_path / "predicted.json"
    _file(path, lambda column: 1.0, every=20, **changes)
    code = main(["train", str(TABLE), "--predicted", str(path), *TRAIN, "-o", str(tmp_path / "m.json")])
    said = capsys.readouterr().err
    assert (code, message in said, "predicted.json" in said) == (3, True, True), said
    assert not (tmp_path / "m.json").exists()


def test_something_must_be_learned_from(tmp_path, capsys):
    assert main(["train", *TRAIN, "-o", str(tmp_path / "m.json")]) == 2
    assert "nothing to learn from" in capsys.readouterr().err
    text = tmp_path / "text.json"
    text.write_text("{}")
    assert main(["train", "--predicted", str(text), *TRAIN, "-o", str(tmp_path / "m.json")]) == 3
    assert "not predicted times of 'ckprof predict --format json'" in capsys.readouterr().err
