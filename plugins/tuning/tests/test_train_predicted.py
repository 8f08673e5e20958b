"""``ckprof train --predicted``: models without measured times, or with few of them."""

import json
from dataclasses import replace
from math import exp, hypot, log
from pathlib import Path

import pytest

import ckprof
from ckprof.cli.main import main
from ckprof.errors import InputError
from ckprof.model.problem_types import sizes
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.kernel_name import traits_of_name
from ckprof_plugins.tuning.measured_tables import read_csv
from ckprof_plugins.tuning.predicted_times import USUAL_HALF, with_predicted
from ckprof_plugins.tuning.search.prior import UNTRAINED, prior_of
from ckprof_plugins.tuning.time_model.measurements import merged
from ckprof_plugins.tuning.time_model.selector import Selector
from ckprof_plugins.tuning.tuning import replay_space
from plugins.tuning.tests.sizes import forward_with_runs
from plugins.tuning.tests.time_model.conftest import MEASURED, fitted
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
        ({"schema": "ckprof-profile"}, "the schema is 'ckprof-profile', expected 'ckprof-prediction'"),
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


PATH = Path("predicted.json")


def _predicted(table, factor=1.0):
    """Return the times of a table as if they were predicted, each wrong by a factor."""
    times = {key: time_us * factor for key, time_us in table.times.items()}
    return replace(table, times=times, predicted=frozenset(times), arch="gfx950", compute_units=256)


def _blended(measured, predicted):
    fields = {name: {} for name in predicted.kernels}
    return with_predicted(ckprof.Profiler().registry, measured, predicted, fields, PATH)


@pytest.fixture(scope="module")
def table_30():
    """Times of 30 kernels on a GPU."""
    return read_csv(MEASURED / "gfx950_fwd_bf16_30kernels_even.csv", traits_of_name, (ConvProblem,))


@pytest.fixture(scope="module")
def small(table_30):
    """Ten problems of three kernels."""
    names = [*table_30.kernels][:3]
    some = table_30.subset(tuple(range(10)))
    return replace(
        some,
        kernels={name: some.kernels[name] for name in names},
        times={key: time_us for key, time_us in some.times.items() if key[1] in names},
    )


def test_a_measured_time_takes_the_place_of_a_predicted_one(small):
    measured = small.subset((3, 5))
    table = merged((_predicted(small, 2.0), measured))
    assert len(table.problems) == len(small.problems)
    by_problem = {
        (table.problems[index], name): (time_us, (index, name, splits) in table.predicted)
        for (index, name, splits), time_us in table.times.items()
    }
    for (index, name, _), time_us in small.times.items():
        expected = (time_us, False) if index in (3, 5) else (2 * time_us, True)
        assert by_problem[small.problems[index], name] == expected
    # what is left of a table keeps what it knows of its times
    assert len(table.subset((0, 1)).predicted) == sum(key[0] in (0, 1) for key in table.predicted)
    clean = table.without_glitches()
    assert clean.predicted == table.predicted & clean.times.keys()


def test_nothing_measured_leaves_times_as_they_are(small):
    assert _blended(None, _predicted(small, 2.0)) == (_predicted(small, 2.0), USUAL_HALF)


def test_measured_times_correct_predicted_ones(table_30):
    measured = table_30.subset(tuple(range(0, 40, 4)))
    table, half = _blended(measured, _predicted(table_30, 0.5))
    known = {
        (table_30.problems[index], name): time_us for (index, name, _), time_us in table_30.times.items()
    }
    assert len(table.predicted) == len(table_30.times) - len(measured.times)
    for (index, name, _), time_us in table.times.items():
        assert time_us == pytest.approx(known[table.problems[index], name])
    # they are wrong by one factor alone
    assert half == pytest.approx(0.0, abs=1e-9)


def test_few_pairs_do_not_tell_how_far_predictions_are_off(small):
    assert _blended(small, _predicted(small))[1] == USUAL_HALF


@pytest.mark.parametrize(
    ("other", "here"), [({"arch": "gfx942"}, "gfx942"), ({"target": "cuda", "arch": "h200"}, "cuda")]
)
def test_times_of_another_device_are_refused(small, other, here):
    if "target" in other:
        pytest.importorskip(f"ckprof_plugins.{other['target']}")
    with pytest.raises(InputError, match=f"predicted for gfx950, .* measured on {here}"):
        _blended(replace(small, **other), _predicted(small))


def test_intervals_allow_for_the_errors_of_predictions(small):
    measured = fitted(small)
    half = log(2)
    model = replace(fitted(_predicted(small)), predicted_half=half)
    assert (measured.predicted, model.predicted) == (0, len(small.without_glitches().times))
    assert measured.basis == ""
    assert f"{model.predicted} times that were predicted from machine code" in model.basis
    candidates = small.kernels
    problem = small.problems[0]
    both = [Selector(one, candidates, forward_with_runs).rank(problem) for one in (measured, model)]
    # fitted to the same times, they differ in nothing but their intervals
    for narrow, wide in zip(*both, strict=True):
        assert (narrow.kernel, narrow.time_us) == (wide.kernel, pytest.approx(wide.time_us))
        # the upper end of the first one allows for its having been chosen, too
        expected = hypot(log(narrow.time_us / narrow.low_us), half)
        assert wide.low_us == pytest.approx(wide.time_us / min(exp(expected), exp(2.303)))


def test_a_search_trusts_predictions_less_than_measurements(small):
    model = fitted(small)
    space = replay_space(small)

    def amplitude(model):
        return prior_of(space, forward_with_runs, 2, model, 256)[2]

    assert amplitude(model) == 1.0
    assert amplitude(replace(model, predicted_half=0.1)) == pytest.approx(0.1 / 1.96 / 0.03, rel=1e-3)
    assert amplitude(replace(model, predicted_half=0.5)) == amplitude(None) == UNTRAINED
