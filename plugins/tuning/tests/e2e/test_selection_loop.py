"""Sweep, train, validate, select: the whole loop on the CPU, in miniature."""

import json

import pytest

from ckprof.cli.main import main
from ckprof_plugins.tuning.time_model.model_file import read_model

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

LIST = ("--conf", "forward/tests/nhwgc_bf16", "--instance", "12", "--instance", "16")
SIZES = ((8, 4), (8, 8), (16, 4), (16, 12), (32, 6), (32, 10), (64, 4), (64, 8), (24, 7), (48, 9))


def test_the_loop(tmp_path, capsys):
    problems = tmp_path / "problems.txt"
    problems.write_text("".join(f"conv -n 1 -c {c} -H {h} -W {h} -k {c} -y 1 -x 1 -F 1\n" for c, h in SIZES))
    store, model = tmp_path / "results.db", tmp_path / "model.json"
    sweep = ["sweep", "fwd", *LIST, "--problems", str(problems), "--store", str(store)]
    assert main([*sweep, "--max-rounds", "1", "--round-time", "0.02"]) == 0
    capsys.readouterr()
    train = ["train", str(store), "--direction", "fwd", "--dtype", "bf16", "-o", str(model)]
    assert main([*train, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["shapes"], found["kernels"]) == (len(SIZES), 2)
    document = read_model(model)
    # the kernels did not run on the architecture that was named
    assert document.target == "cpu"
    assert document.device != "gfx942"
    # the store says how many cores ran the kernels
    assert document.compute_units >= 1
    assert document.origin.rows == 2 * len(SIZES)
    assert {one.traits.tile for one in document.kernels.values()} == {(64, 64, 32)}
    assert main(["validate", str(model), str(store), "--format", "json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    assert judged["derived_kernels"] == []
    assert 0 < judged["p10"] <= judged["median"] <= 1
    select = [
        "select",
        "fwd",
        "--model",
        str(model),
        *LIST,
        "--problem",
        problems.read_text().splitlines()[3],
    ]
    assert main([*select, "--measure", "2", "--format", "json"]) == 0
    chosen = json.loads(capsys.readouterr().out)["kernels"]
    assert [one["status"] for one in chosen] == ["ok", "ok"]
    assert chosen[0]["measured_us"] <= chosen[1]["measured_us"]
    assert all(one["known"] for one in chosen)
    assert main([*select, "--target", "hip", "--no-support-check"]) == 3
    assert "ran on target cpu" in capsys.readouterr().err
    assert main([*select, "--target", "hip", "--no-support-check", "--force"]) == 0


def test_a_store_without_what_is_asked_for(tmp_path, capsys):
    from ckprof.store.writer import StoreWriter

    path = tmp_path / "empty.db"
    with StoreWriter(path):
        pass
    command = ["train", str(path), "--direction", "fwd", "--dtype", "bf16", "-o", str(tmp_path / "m.json")]
    assert main(command) == 3
    assert "it holds no verified time of fwd bf16" in capsys.readouterr().err
