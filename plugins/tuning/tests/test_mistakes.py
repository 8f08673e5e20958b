"""What users get wrong with matrix products is said before anything is built or written."""

from pathlib import Path

import pytest

from ckprof.cli.main import main
from tests.cli.test_mistakes_with_products import write_catalog


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
