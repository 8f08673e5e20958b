"""Whatever happened to a store, every command says so, and what is recovered and lost is counted right."""

import shutil
import sqlite3
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode
from ckprof.store.attempt import Mark
from ckprof.store.errors import StoreError
from ckprof.store.maintenance import LOST_TEXT, check, recover
from ckprof.store.query import SharedKey
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from tests.measured import SESSION, Made, attempts
from tests.store.damage import SCHEMA, damage, kind_of, leave_log
from tests.store.test_baselines import measured

COUNT = 200
MADE = list(attempts(Made(problems=4, instances=5, rounds=10, session=replace(SESSION, tags=("nightly",)))))
assert len(MADE) == COUNT


@pytest.fixture(scope="session")
def sound(tmp_path_factory):
    return make_sound(tmp_path_factory.mktemp("sound"))


def make_sound(folder):
    """Return a folder with a store, and one as a killed writer leaves it."""
    with StoreWriter(folder / "plain.db") as writer:
        writer.append_many(MADE)
        key = MADE[0].key
        same = {"operation": key.operation, "device": key.device, "method": key.method}
        for sequence in range(5):
            writer.add_baseline(measured(sequence, session=MADE[0].session, **same))
    leave_log(folder / "log.db", MADE)
    return folder


def damaged(sound, folder, seed):
    """Return a copy of a store that was damaged."""
    path = folder / "damaged.db"
    name = "log.db" if kind_of(seed) == "log" else "plain.db"
    for kind in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            shutil.copy(sound / f"{name}{kind}", f"{path}{kind}")
    print(seed, damage(path, seed))
    return path


def with_its_texts(attempt, original):
    """Put the original's texts where an attempt says that they are lost."""
    if attempt.reason == LOST_TEXT:
        attempt = replace(attempt, reason=original.reason)
    if attempt.requirements == (LOST_TEXT,):
        attempt = replace(attempt, requirements=original.requirements)
    timing = attempt.measurement
    if timing is not None and timing.stopped_by == LOST_TEXT:
        assert original.measurement is not None
        timing = replace(timing, stopped_by=original.measurement.stopped_by)
        attempt = replace(attempt, measurement=timing)
    return attempt


def judge(path, target):
    """Recover a store, and compare what it says with the rows of the sound one by key and content."""
    try:
        result = recover(path, target)
    except StoreError:
        assert not target.exists()
        return "refused"
    expected = {(one.session.uid, one.sequence): one for one in MADE}
    bare = without_text = 0
    stored = sum(one.measurement is not None for one in MADE)
    with Store(target) as store:
        found = list(store)
    for attempt in found:
        original = expected.pop((attempt.session.uid, attempt.sequence))
        told = with_its_texts(attempt, original)
        without_text += told != attempt
        attempt = told
        if attempt != original:
            assert original.measurement is not None
            assert attempt == replace(original, measurement=replace(original.measurement, samples_ms=()))
            bare += 1
    assert result.saved == len(found)
    assert result.texts_lost == without_text
    missing, missing_samples = len(expected), stored - (len(found) - bare)
    if result.uncertain:
        assert result.lost <= missing and result.samples_lost <= missing_samples
        return "at least"
    assert (result.lost, result.samples_lost) == (missing, missing_samples)
    assert result.complete == (not missing and not missing_samples and not without_text)
    return "exact"


def use(path, folder, *, full):
    """Have every command that reads or writes stores use it: none ends in any way but a documented one."""
    shared = SharedKey(
        **{name: getattr(MADE[0].key, name) for name in ("operation", "device", "toolchain", "method")},
        dtype=MADE[0].kernel.dtype,
        layout=MADE[0].kernel.layout,
    )
    with suppress(StoreError), Store(path) as store:
        store.past_visits(shared, MADE[0].key.problem)
        store.origins()
        list(store.measurements())
        store.devices(), store.sessions(), store.problems(), store.best(), len(store)
        store.to_dicts()
    prune = ("results", "prune", path, "--status", "run_error", "--direction", "fwd")
    commands = [
        ("results", "show", path),
        ("results", "check", path),
        prune,
    ]
    if full:
        commands += [
            ("results", "show", path, "--direction", "fwd", "--arch", "x86-64"),
            *(
                ("results", "export", path, "-o", folder / f"out.{name}")
                for name in ("ndjson", "csv", "parquet")
            ),
            ("results", "export", path, "--format", "t4", "-o", folder / "out.t4"),
            ("compare", path, path),
            ("results", "import", folder.parent / "more.ndjson", "--store", path),
            (*prune, "--yes"),
        ]
    for command in commands:
        code = main([str(word) for word in command])
        assert code in (ExitCode.OK, ExitCode.FAILED, ExitCode.INPUT), command


def test_commands_name_table_row_and_column(sound, capfd, tmp_path):
    path = tmp_path / "some.db"
    shutil.copy(sound / "plain.db", path)
    connection = sqlite3.connect(path, isolation_level=None)

    def told(*words, code=ExitCode.INPUT):
        capfd.readouterr()
        assert main([*map(str, words), str(path)]) == code
        return "".join(capfd.readouterr())

    connection.execute("UPDATE methods SET body = '{'")
    for words in (("results", "show"), ("compare", path)):
        assert "table methods, row 1, column body: Input data was truncated" in told(*words)
    connection.execute("UPDATE attempts SET round = -3 WHERE id = 1")
    assert "table attempts, row 1, column round: Expected `int` >= 0, found -3" in told("compare", path)
    connection.execute("DELETE FROM attempts WHERE id > 180")
    connection.close()
    assert "200 attempts were stored, 200 of them with raw samples; there are 180" in told("compare", path)
    told("results", "check", code=ExitCode.FAILED)
    text = told("results", "recover", "--output", tmp_path / "new.db", code=ExitCode.FAILED)
    assert "0 outcomes saved, 200 lost, the raw samples of 200" in text


@pytest.mark.parametrize(
    "statement", ["UPDATE texts SET body = 'stdre1' WHERE id = ?", "DELETE FROM texts WHERE id = ?"]
)
def test_attempts_outlive_texts_that_only_people_read(sound, capfd, tmp_path, statement):
    path = tmp_path / "some.db"
    shutil.copy(sound / "plain.db", path)
    connection = sqlite3.connect(path, isolation_level=None)
    names = {body: number for number, body in connection.execute("SELECT id, body FROM texts")}
    connection.execute(statement, (names["stdrel"],))
    connection.close()
    assert judge(path, tmp_path / "new.db") == "exact"
    with Store(tmp_path / "new.db") as store:
        assert {one.measurement.stopped_by for one in store if one.measurement} == {LOST_TEXT}
    assert not check(tmp_path / "new.db")
    capfd.readouterr()
    assert main(["results", "recover", str(path), "--output", str(tmp_path / "two.db")]) == ExitCode.FAILED
    out, err = capfd.readouterr()
    assert "200 outcomes saved, 0 lost; 200 of those saved lack a text" in out
    assert "attempt 1: saved without a text (table texts, row " in err


def test_marks_decide_over_times_and_are_no_texts_for_people(sound, tmp_path):
    """Without its marks a time that does not count would count."""
    with StoreWriter(tmp_path / "some.db") as writer:
        writer.append(replace(MADE[0], marks=(Mark.SLOW_DEVICE,), reason="too slow"))
        writer.append(MADE[1])
    connection = sqlite3.connect(tmp_path / "some.db", isolation_level=None)
    connection.execute("UPDATE texts SET body = 'x' WHERE body = 'slow_card'")
    connection.close()
    result = recover(tmp_path / "some.db", tmp_path / "new.db")
    assert (result.saved, result.lost, result.texts_lost) == (1, 1, 0)


def test_a_view_without_end_in_the_place_of_a_table_is_not_read(sound, tmp_path):
    path = tmp_path / "some.db"
    shutil.copy(sound / "plain.db", path)
    (statement,) = (one for one in SCHEMA if "RECURSIVE" in one)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(f"PRAGMA legacy_alter_table = ON; {statement}")
    connection.close()
    assert "the table methods is a view" in check(path)[0]
    with pytest.raises(StoreError, match="the table methods is a view"):
        recover(path, tmp_path / "new.db")


def test_what_was_written_wrong_is_found(tmp_path):
    """Figures that do not agree with their samples have sound digests: their writer was wrong."""
    timing = MADE[0].measurement
    assert timing is not None
    with StoreWriter(tmp_path / "some.db") as writer:
        writer.append(replace(MADE[0], measurement=replace(timing, time_ms=2 * timing.time_ms)))
        writer.append(replace(MADE[1], measurement=replace(timing, min_ms=3 * timing.time_ms)))
        with pytest.raises(StoreError, match="column time_ms: Expected `float` > 0"):
            writer.append(replace(MADE[2], measurement=replace(timing, time_ms=-1.0)))
        with pytest.raises(StoreError, match="column mean_ms: Expected `float` <="):
            writer.append(replace(MADE[2], measurement=replace(timing, mean_ms=float("inf"))))
        assert len(writer.reader) == 2
    findings = check(tmp_path / "some.db")
    assert len(findings) == 2
    assert "row 1, column time_ms: " in findings[0] and "is outside of its raw samples" in findings[0]
    assert "row 2, column min_ms: " in findings[1] and "is above its median" in findings[1]


#: of two hundred stores, those that every change is held against
_THOROUGH = 10


@pytest.mark.parametrize("seed", range(10))
def test_damaged_stores(sound, tmp_path, seed):
    path = damaged(sound, tmp_path, seed)
    judge(path, tmp_path / "new.db")
    use(path, tmp_path, full=False)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=pytest.mark.thorough if first < _THOROUGH else pytest.mark.slow)
        for first in range(0, 200, 10)
    ],
)
def test_two_hundred_damaged_stores(sound, tmp_path, first):
    with StoreWriter(tmp_path / "more.db") as writer:
        writer.append(replace(MADE[0], sequence=9_999))
    assert main(["results", "export", str(tmp_path / "more.db"), "-o", str(tmp_path / "more.ndjson")]) == 0
    said = Counter[str]()
    for seed in range(first, first + 10):
        folder = tmp_path / str(seed)
        folder.mkdir()
        path = damaged(sound, folder, 1000 + seed)
        said[judge(path, folder / "new.db")] += 1
        use(path, folder, full=True)
    print(dict(said))
    assert said["exact"] >= 5
