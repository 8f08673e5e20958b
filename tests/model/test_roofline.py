"""What devices can reach at most, as it is written, stored and read again."""

import math
from dataclasses import replace

import pytest

from ckprof.errors import ExitCode, UsageError
from ckprof.model.roofline import Ceiling, CeilingKind, rates_of
from ckprof.model.types import DataType
from tests.cases import Cases
from tests.convolutions import convolution

MEASURED = Ceiling(kind=CeilingKind.MEASURED, gflops=95_000.0, gbytes_per_s=1350.0)


def test_the_lower_of_both_limits_counts():
    ridge = 95_000 / 1350
    for intensity, gflops in ((0.0, 0.0), (10.0, 13_500.0), (ridge, 95_000.0), (1e6, 95_000.0)):
        assert MEASURED.at(intensity) == pytest.approx(gflops)
    assert replace(MEASURED, gbytes_per_s=math.inf).at(1e-3) == 95_000


def test_ceilings_are_read_as_they_are_written():
    assert Ceiling.parse("measured=95000,1350") == Ceiling.parse(" measured = 9.5e4 , 1350 ") == MEASURED
    assert Ceiling.parse("theoretical=-,1350") == Ceiling(
        kind=CeilingKind.THEORETICAL, gflops=math.inf, gbytes_per_s=1350.0
    )
    form, sizes = "is not KIND=GFLOPS,GBYTES_PER_S with theoretical or measured", "needs positive numbers"
    with Cases() as cases:
        for text, said in (
            *(
                (text, form)
                for text in ("", "measured", "measured=1", "measured=1,2,3", "guess=1,2", "measured=a,2")
            ),
            *((text, sizes) for text in ("measured=0,1", "measured=1,-1", "measured=-,-", "measured=nan,1")),
        ):
            with cases.case(text):
                with pytest.raises(UsageError, match=said) as told:
                    Ceiling.parse(text)
                assert told.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize(
    "ceiling", [MEASURED, replace(MEASURED, dtype=DataType.FP16), replace(MEASURED, gflops=math.inf)]
)
def test_plain_values_come_back(ceiling):
    assert Ceiling.from_plain(ceiling.as_plain()) == ceiling
    assert (ceiling.as_plain().get("gflops") is None) == (ceiling.gflops == math.inf)


def test_what_other_versions_wrote_is_left_alone():
    for changes in (
        {"kind": "guessed"},
        {"dtype": "fp3"},
        {"gflops": "fast"},
        {"gflops": -1.0},
        {"gflops": None, "gbytes_per_s": None},
    ):
        assert Ceiling.from_plain({**MEASURED.as_plain(), **changes}) is None
    assert Ceiling.from_plain({}) is None


def test_rates():
    problem = convolution("1 1 2 3 5 1 7 1 1 0 0")
    gflops, gbytes = rates_of(problem, DataType.FP16, 2.0)
    assert gflops == pytest.approx(2 * 2 * 3 * 5 * 7 / 2e-3 / 1e9)
    assert gbytes == pytest.approx(2 * (2 * 5 * 7 + 3 * 5 + 2 * 3 * 7) / 2e-3 / 1e9)
