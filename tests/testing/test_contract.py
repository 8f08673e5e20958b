"""What becomes of a check: passed, failed, or not possible on this machine."""

import pytest

from ckprof.errors import CkprofError, InputError, PluginError, ToolchainError
from ckprof.testing.contract import CannotTry, CheckVerdict, ContractCheck


def test_what_a_check_finds_is_kept():
    found = ContractCheck.of("pipeline 'mine'", "renders", lambda: "3 lines")
    assert found == ContractCheck(
        what="pipeline 'mine'", check="renders", verdict=CheckVerdict.PASSED, detail="3 lines"
    )


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (PluginError("it is wrong"), CheckVerdict.FAILED),
        (InputError("it is wrong"), CheckVerdict.FAILED),
        (CannotTry("it is wrong"), CheckVerdict.NOT_POSSIBLE),
        (ToolchainError("it is wrong"), CheckVerdict.NOT_POSSIBLE),
        # of protocols whose package is not installed
        (CkprofError("it is wrong"), CheckVerdict.NOT_POSSIBLE),
    ],
)
def test_errors_say_why(error, verdict):
    def fail():
        raise error

    found = ContractCheck.of("observer 'x'", "reads", fail)
    assert (found.verdict, found.detail) == (verdict, "it is wrong")
    assert found == ContractCheck.failed("observer 'x'", "reads", error)


def test_what_is_no_error_of_ckprof_passes_through():
    with pytest.raises(ZeroDivisionError):
        ContractCheck.of("x", "y", lambda: str(1 // 0))
