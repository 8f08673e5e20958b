from __future__ import annotations

import json

import pytest

from ckprof.errors import InputError, UsageError
from ckprof.model.types import DataType
from ckprof_plugins.judge.bench import Task
from ckprof_plugins.judge.new import write_template

SMALL = {
    "gemm": "24x40x64",
    "fwd": "conv -n 2 -c 4 -H 7 -W 6 -k 8 -y 3 -x 2 -p 1 -q 1 -u 2 -v 1 -F 1",
    "bwd_data": "conv -n 2 -c 4 -H 7 -W 6 -k 8 -y 3 -x 2 -p 1 -q 1 -u 2 -v 1 -F 2",
    "bwd_weight": "conv -n 2 -c 4 -H 7 -W 6 -k 8 -y 3 -x 2 -p 1 -q 1 -u 2 -v 1 -F 4",
}
LAYOUTS = {"gemm": ("rcr", "rrr", "ccr", "crr")}


@pytest.mark.compiler
@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["py", "cpp"])
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("direction", [*SMALL])
def test_templates_are_right_as_they_are(ckprof, direction, dtype, suffix):
    for layout in LAYOUTS.get(direction, ("nhwgc", "ngchw")):
        how = ("--dtype", dtype, "--layout", layout, "--problem", SMALL[direction])
        ckprof("judge", direction, "--new", f"{layout}.{suffix}", *how).ok()
        called = ckprof("judge", direction, f"{layout}.{suffix}", *how, "--budget", "20s", "--format", "json")
        said = json.loads(called.out)
        assert (called.code, said["verdict"], said["finding"]) == (0, "right", None)


def test_what_there_is_no_template_for(registry, tmp_path):
    operation = registry.operation("fwd")
    task = Task(operation=operation, types=operation.types(DataType.FP8), layout=operation.layouts[1])
    problem = operation.default_problem[2]
    with pytest.raises(UsageError, match=r"expected a name that ends in .py, .cpp, .hip"):
        write_template(task, problem, tmp_path / "a.txt")
    with pytest.raises(UsageError, match="the template in C\\+\\+ has no fp8; one in Python has"):
        write_template(task, problem, tmp_path / "a.cpp")
    (tmp_path / "a.py").write_text("mine")
    with pytest.raises(InputError, match=r"a.py: the file exists: choose another name"):
        write_template(task, problem, tmp_path / "a.py")
    assert (tmp_path / "a.py").read_text() == "mine"
    with pytest.raises(InputError, match=r"cannot write: .* is not a folder"):
        write_template(task, problem, tmp_path / "a.py" / "b.py")
