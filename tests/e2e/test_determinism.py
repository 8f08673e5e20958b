"""What is generated depends on the instances alone: neither on the process nor on the order of hashes."""

import os

import pytest

from tests.called import ckprof_apart

pytestmark = pytest.mark.thorough

#: one list of each family, as few instances as have all of its templates
LISTS = (
    ("fwd", "forward/tests/nhwgc_fp16", "0,5,9"),
    ("bwd_weight", "backward_weight/tests/nhwgc_bf16_streamk", "0,1"),
    ("bwd_weight", "backward_weight/tests/nhwgc_fp16", "0,1"),
    ("fwd", "forward/tests/ngchw_depthwise", "0,1"),
)


def generated(folder, seed, arguments):
    """Generate sources in a process of its own with this seed of hashes."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    ckprof_apart("-q", "generate", *arguments, "--build-dir", folder, env=environment).ok()
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        # the only file that names the folder, and the record of times of change
        if path.is_file() and path.suffix in {".hpp", ".cpp", ".h", ".txt", ".json"}
        and path.name not in {"compile_commands.json"} and not path.name.startswith(".")
    }  # fmt: skip


@pytest.mark.parametrize(("direction", "conf", "numbers"), LISTS)
def test_sources_do_not_depend_on_the_process(tmp_path, direction, conf, numbers):
    arguments = [direction, "--conf", conf]
    for number in numbers.split(","):
        arguments += ["--instance", number]
    first = generated(tmp_path / "a", "1", arguments)
    second = generated(tmp_path / "b", "4242", arguments)
    assert any(name.startswith("kernels/") for name in first)
    assert first == second
