"""The devices of a sweep on several of them."""

from dataclasses import replace

from ckprof.store.attempt import DEVICE as DEVICE_FACTS
from ckprof.store.attempt import REFERENCE_MS, Mark
from ckprof_plugins.pages.devices import device_rows
from tests.measured import SESSION, Made, attempts

ONE = Made(problems=1, instances=1, rounds=1, processes=1)


def test_devices_are_rated_by_their_checks():
    """A check stands in all attempts of its round, and counts once."""
    (first,) = attempts(ONE)

    def device(name, checks, temperature=None, marks=()):
        session = replace(SESSION, uid=name * 32, environment={DEVICE_FACTS: {"id": f"lab:{name}"}})
        return [
            replace(
                first,
                session=session,
                sequence=number,
                marks=marks,
                conditions=replace(
                    first.conditions, temperature_c=temperature, extra={REFERENCE_MS: checks[number // 2]}
                ),
            )
            for number in range(2 * len(checks))
        ]

    unchecked = replace(
        first, session=replace(SESSION, uid="f" * 32, environment={DEVICE_FACTS: {"id": "lab:f"}})
    )
    found = [*device("a", [1.0, 1.2], 60.0), *device("b", [2.2], 70.0, (Mark.SLOW_DEVICE,)), unchecked]
    rows = device_rows([*found, *attempts(ONE)])
    assert [(row.id, row.checks, row.reference_ms, row.attempts, row.slow) for row in rows] == [
        ("lab:b", 1, 2.2, 2, 2),
        ("lab:a", 2, 1.1, 4, 0),
        ("lab:f", 0, None, 1, 0),
    ]
    # the median of 1.1 and 2.2 is 1.65
    assert [row.ratio and round(row.ratio, 6) for row in rows] == [
        round(2.2 / 1.65, 6),
        round(1.1 / 1.65, 6),
        None,
    ]
    assert [row.temperature_c for row in rows] == [70.0, 60.0, None]
