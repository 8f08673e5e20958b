"""A small run with one outcome of every kind."""

import dataclasses
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.compare.compare import compare
from ckprof.compare.side import side_of
from ckprof.model.conversion import Conversion
from ckprof.model.kernel import SelectedKernel
from ckprof.model.outcome import Measurement, Outcome, Status, Verification
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.results import BuildSummary, RunResults
from ckprof.model.types import DataType, TypeSet
from tests.convolutions import convolution
from tests.measured import TOOLCHAIN, Made, attempts, later

PROBLEM = convolution("2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1")


def measured(ms):
    return Measurement(time_ms=ms, spread_ms=ms / 100, min_ms=ms, mean_ms=ms, samples=10, stopped_by="stdrel")


PASSED = Verification(max_error=1e-4, wrong_elements=0, elements=100, rtol=1e-3, atol=1e-3)
WRONG = Verification(max_error=9.0, wrong_elements=3, elements=100, rtol=1e-3, atol=1e-3)


@pytest.fixture
def results():
    """Fast but wrong, slow and right, fast and right, unverified, and one of each failure."""
    outcomes = [
        Outcome(
            key="k0",
            problem_index=0,
            status=Status.WRONG_RESULT,
            reason="3 of 100 differ",
            measurement=measured(0.5),
            verification=WRONG,
        ),
        Outcome(key="k1", problem_index=0, status=Status.OK, measurement=measured(4.0), verification=PASSED),
        Outcome(key="k2", problem_index=0, status=Status.OK, measurement=measured(2.0), verification=PASSED),
        Outcome(key="k3", problem_index=0, status=Status.OK, measurement=measured(1.0)),
        *(
            Outcome(key=f"k{4 + n}", problem_index=0, status=status, reason=f"because of\n {status.value}")
            for n, status in enumerate(s for s in Status if s not in (Status.OK, Status.WRONG_RESULT))
        ),
    ]
    instances = tuple(
        SelectedKernel(
            key=f"k{n}",
            index=n,
            id=n + 10,
            name=f"kernel_{n}",
            instance_string=f"Kernel<{n}>",
            pipeline="tiles",
            dtype=DataType.FP16,
            types=TypeSet.shared(DataType.FP16),
            ndim=2,
            source=f"list.conf:{n + 1}",
        )
        for n in range(len(outcomes))
    )
    return RunResults(
        direction="fwd",
        target="cpu",
        arch="gfx950",
        environment={"seed": 0},
        conversions=(
            Conversion(
                path=Path("list.conf"),
                converter="conf",
                catalogs=(),
                lines=2,
                dropped={1: UnmetRequirement(rule="comment", message="a comment")},
            ),
        ),
        instances=instances,
        problems=(PROBLEM,),
        build=BuildSummary(compiled=9),
        outcomes=tuple(outcomes),
    )


OLD = Made(seed=1, noise=0.004, load=0.5)


NEW = Made(
    seed=2,
    noise=0.004,
    load=9.0,
    session=later(),
    toolchain=replace(TOOLCHAIN, compiler="clang 22.0"),
    factor=lambda p, i: 1.3 if (p, i) == (1, 2) else (1.03 if (p, i) == (2, 1) else 1.0),
    failing=lambda p, i: Status.WRONG_RESULT if (p, i) == (0, 0) else None,
)


def comparison_of(new=NEW):
    return compare(side_of("old.db", attempts(OLD)), side_of("new.db", attempts(new)))


@pytest.fixture(scope="session")
def comparison():
    return comparison_of()


REFUSALS = (
    UnmetRequirement(rule="vector-a", message="C = 3 is not a multiple of the A vector width 4"),
    UnmetRequirement(rule="specialization", message="Filter1x1Pad0 needs filter height = 1,\n got 3"),
)


@pytest.fixture
def rejected(results):
    """Three rejected instances, one of them with two splits: by both conditions, and by one alone."""
    unsupported = Outcome(key="k4", problem_index=0, status=Status.UNSUPPORTED, reason=REFUSALS[0].message)
    return dataclasses.replace(
        results,
        outcomes=(
            dataclasses.replace(unsupported, unmet_requirements=REFUSALS),
            dataclasses.replace(unsupported, key="k5", unmet_requirements=REFUSALS[:1]),
            dataclasses.replace(unsupported, key="k6", unmet_requirements=REFUSALS[1:]),
            dataclasses.replace(unsupported, key="k6", unmet_requirements=REFUSALS[1:], split_k=2),
            dataclasses.replace(unsupported, key="k6", split_k=-1, split_k_deduced=True),
            Outcome(
                key="k1",
                problem_index=0,
                status=Status.OK,
                measurement=results.outcomes[1].measurement,
                verification=results.outcomes[1].verification,
                split_k=7,
                split_k_deduced=True,
            ),
        ),
    )
