"""Commands with plugins whose objects misbehave: one message that names them, nothing half done."""

import dataclasses
import json
import shutil
import signal
import time
from types import SimpleNamespace

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode
from ckprof.plugin.members import members_of
from ckprof.store.writer import StoreWriter
from tests.measured import Made, attempts

from . import hostile
from .test_boundary import KIND_OF, Odd, raising

pytestmark = pytest.mark.thorough

CASES = [pytest.param(case, id=name) for name, case in hostile.CASES.items()]
#: a method, a member of a record, one that is iterated, one that reads and one that is run: with all that
#: can go wrong. What is called is guarded in one place: of the other kinds, that they are called through it
THOROUGH = ("direction", "format", "rule set", "store format that reads", "command")


def half_way():
    yield 1
    raise ValueError("boom")


#: what a member does -> what the message says of it, beside plugin, object and member
ACTS = {
    "raises": (raising(ValueError("boom")), "raised ValueError: boom"),
    "stops iteration": (raising(StopIteration()), "raised StopIteration"),
    "closes generators": (raising(GeneratorExit()), "raised GeneratorExit"),
    "exits": (raising(SystemExit(0)), "called sys.exit(0)"),
    "returns nothing": (lambda: None, "None, expected"),
    "returns something else": (Odd, "an object of type Odd"),
    "yields and raises": (half_way, ""),
}


class Acting:
    """An object that works but for one member, which acts when it is called, or read."""

    def __init__(self, original, name, act, *, when_read=False):
        self.__dict__.update(original=original, acting=name, act=act, when_read=when_read)

    def __getattr__(self, name):
        if name != self.acting:
            return getattr(self.original, name)
        return self.act() if self.when_read else lambda *arguments, **named: self.act()


class Without(Acting):
    """An object that lacks a member."""

    def __init__(self, original, name):
        super().__init__(original, name, raising(AttributeError(name)), when_read=True)


def protocol_of(case):
    return case.protocol or KIND_OF[case.kind].protocol


def is_record(case):
    return dataclasses.is_dataclass(protocol_of(case))


def member_of(case):
    return next(member for member in members_of(protocol_of(case)) if member.name == case.member)


def acting(case, act, *, when_read=False):
    """An object of a case whose member misbehaves."""
    item = case.make()
    if is_record(case):
        object.__setattr__(item, case.member, lambda *arguments: act())
    else:
        item = Acting(item, case.member, act, when_read=when_read or member_of(case).parameters is None)
    return case.registered(item)


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    """Calls ckprof with a plugin that registers objects, in a folder with some files."""
    monkeypatch.chdir(tmp_path)
    for name, text in hostile.FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    shutil.copyfile(a_store(tmp_path), tmp_path / "a.db")

    def call(case, *objects):
        hook = "@hookimpl\ndef ckprof_register(registry):\n    registry.add(*hostile.REGISTERED)\n"
        (tmp_path / "hostile.py").write_text(hostile.PLUGIN + hook)
        monkeypatch.setattr(hostile, "REGISTERED", list(objects))
        before = contents(tmp_path)
        capfd.readouterr()
        try:
            code = main(["--plugin", "hostile.py", *case.command])
        except SystemExit as exc:
            code = exc.code
        shown = capfd.readouterr()
        assert "Traceback" not in shown.err
        if case.code is not None and code not in (0, case.code):
            assert contents(tmp_path) == before
        return SimpleNamespace(code=code, out=shown.out, err=shown.err)

    return call


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def a_store(folder):
    store = folder.parent / "measured.db"
    if not store.exists():
        with StoreWriter(store) as writer:
            writer.append_many(attempts(Made(rounds=4)))
    return store


def named(done, *texts):
    """Check that a command has ended with one message that has these texts."""
    assert done.code == ExitCode.PLUGIN, done.err
    (message,) = [line for line in done.err.splitlines() if line.startswith("ckprof: plugin ")]
    for text in ("hostile.py", *texts):
        assert text in message


def pairs(acts, cases=CASES):
    """Return all acts with the thorough cases, the first one with the others."""
    return [
        pytest.param(case.values[0], act, id=f"{case.id}-{act if isinstance(act, str) else act.__name__}")
        for case in cases
        for number, act in enumerate(acts)
        if number == 0 or case.id in THOROUGH
    ]


@pytest.mark.parametrize("case", CASES)
def test_a_command_works_with_an_object_that_works(case, command):
    done = command(case, case.registered(case.make()))
    assert done.code == case.code, done.err
    if case.code != ExitCode.PLUGIN:
        assert "plugin hostile" not in done.err


@pytest.mark.parametrize(("case", "act"), pairs(ACTS))
def test_a_command_with_an_object_that_misbehaves_says_so_and_leaves_nothing(case, act, command):
    function, said = ACTS[act]
    done = command(case, acting(case, function))
    named(done, "'mine'", case.member, said)
    assert not done.out


OBJECTS = [case for case in CASES if not is_record(case.values[0])]


@pytest.mark.parametrize(("case", "act"), pairs(["raises", "exits", "closes generators"], OBJECTS))
def test_a_property_that_raises_is_named(case, act, command):
    function, said = ACTS[act]
    named(command(case, acting(case, function, when_read=True)), "'mine'", case.member, said)


@pytest.mark.parametrize("case", CASES)
def test_a_member_that_is_missing_is_named(case, command):
    item = case.make()
    if not is_record(case):
        item = Without(item, case.member)
    elif "| None" in member_of(case).annotation:
        pytest.skip("it may be missing")
    else:
        object.__setattr__(item, case.member, None)
    named(command(case, case.registered(item)), "'mine'", case.member)


REGISTERED_CASES = [case for case in CASES if case.values[0].within is None]


@pytest.mark.parametrize("case", REGISTERED_CASES)
def test_an_id_that_is_no_text_is_reported(case, command):
    item, identifier = case.make(), KIND_OF[case.kind].identifier
    if is_record(case):
        object.__setattr__(item, identifier, 3)
    else:
        item = Acting(item, identifier, lambda: 3, when_read=True)
    named(command(case, item), case.kind, f"no {identifier}")


@pytest.mark.parametrize("case", REGISTERED_CASES)
def test_an_id_that_is_there_twice_is_reported(case, command):
    done = command(case, case.make(), case.make())
    assert done.code == ExitCode.PLUGIN
    assert "'mine': hostile.py and hostile.py; disable one of them" in done.err and not done.out


@pytest.mark.parametrize("case", REGISTERED_CASES)
def test_the_check_of_a_plugin_asks_for_every_kind(case, command):
    checked = dataclasses.replace(case, command=("plugins", "--check", "hostile.py", "--format", "json"))
    item, identifier = case.make(), KIND_OF[case.kind].identifier
    if is_record(case):
        object.__setattr__(item, case.member, 3)
    else:
        item, case = Without(item, identifier), dataclasses.replace(case, member=f"no {identifier}")
    done = command(checked, item)
    assert done.code == ExitCode.PLUGIN
    (check,) = json.loads(done.out)
    assert check["result"] == "failed" and case.member in check["detail"]


def hang():
    """Go on until Ctrl-C ends it; the first one may only be noted, see :class:`StopSignals`."""
    for _ in range(3):
        time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)
    raise AssertionError("it was not interrupted")


def break_off():
    raise KeyboardInterrupt


@pytest.mark.parametrize(("case", "act"), pairs([break_off, hang]))
def test_an_interrupt_ends_the_command(case, act, command):
    done = command(case, acting(case, act))
    assert done.code == ExitCode.INTERRUPTED, done.err


#: what a list of pipelines asks for: they know all operations
PIPELINES = {"direction", "operation", "pipeline"}


@pytest.mark.parametrize("case", [case for case in REGISTERED_CASES if case.id not in PIPELINES])
def test_an_object_that_a_command_does_not_need_costs_nothing(case, command):
    other = dataclasses.replace(case, command=("list", "pipelines"), code=0)
    item = case.make()
    if is_record(case):
        object.__setattr__(item, case.member, 3)
    else:
        item = Acting(item, case.member, raising(ValueError("boom")), when_read=True)
    assert command(other, item).code == 0


#: what holds for a case of any kind, for packages that bring kinds of their own
OF_CASES = (
    test_a_command_works_with_an_object_that_works,
    test_a_member_that_is_missing_is_named,
    test_an_id_that_is_no_text_is_reported,
    test_an_id_that_is_there_twice_is_reported,
    test_the_check_of_a_plugin_asks_for_every_kind,
    test_an_object_that_a_command_does_not_need_costs_nothing,
)
