"""Faults planted in real kernels are found on the emulated device, at the right instruction.

A barrier or a wait is taken out of the compiled kernel, as if the compiler or its source had left it out.
"""

import pytest

from plugins.emulator.tests.e2e.conftest import outcome_of
from tests.e2e.catalogs import write_catalog

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(1500)]

ARCH = "gfx942"
#: two steps of the main loop at least, tails in all dimensions
PROBLEM = "convfp16 -n 2 -c 40 -H 9 -W 7 -k 72 -y 3 -x 3 -p 1 -q 1 -F 1"
ALL = "races,uninitialised,waits,bounds,barriers"
#: of the kernel, not of what computes the reference
KERNEL = "grouped_conv_fwd"


@pytest.fixture
def outcome(ckprof, tmp_path):
    """Run the kernel of a pipeline with an instruction left out, and return its status and reason."""

    def run(left_out="", checks=ALL, **change):
        catalog = write_catalog(tmp_path / "one.json", "forward", [change or {"pipeline": "compv1"}])
        called = ckprof(
            *("run", "fwd", "--conf", catalog, "--target", "hip", "--arch", ARCH, "--device", "emulated"),
            *(("--check", checks) if checks else ()),
            *("--problem", PROBLEM, "--format", "json", "--max-time", "0"),
            env={"CKPROF_EMULATED_OMIT": f"{left_out}:{KERNEL}"} if left_out else {},
            timeout=1200,
        )
        return outcome_of(called)

    return run


def test_a_right_kernel_has_no_findings(outcome):
    assert outcome() == ("ok", "")


@pytest.mark.parametrize(
    ("left_out", "check", "instruction"),
    [
        ("s_barrier:1", "races", "ds_write_b"),
        ("s_barrier:2", "races", "ds_read_b"),
        ("s_waitcnt:4", "waits", "buffer_load"),
    ],
)
def test_what_is_left_out_is_found(outcome, left_out, check, instruction):
    status, reason = outcome(left_out)
    assert status == "run_error"
    assert f"{check}: " in reason
    assert instruction in reason
