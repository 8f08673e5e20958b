"""T4: what its schema requires, and files of other tuners."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof.model.outcome import Status
from ckprof.plugin.protocols.converters import ImportHints
from ckprof.store.query import StoreQuery
from ckprof_plugins.consumers import t4
from tests.store.samples import attempts, check_format, make_attempt, make_store


@given(added=st.lists(attempts(), max_size=6))
@settings(max_examples=8)
def test_attempts_come_back_exactly(tmp_path_factory, added):
    check_format(t4.FORMAT, tmp_path_factory.mktemp("t4"), added)


def test_t4_has_what_its_schema_requires(tmp_path):
    file = tmp_path / "r.t4.json"
    added = [make_attempt(n, n, status=status) for n, status in enumerate(Status)]
    with make_store(*added) as store:
        t4.write(store, StoreQuery(), file)
    data = json.loads(file.read_text())
    assert data["schema_version"] == "1.0.0"
    words = {"timeout", "compile", "runtime", "correctness", "constraints", "correct"}
    for one, status in zip(data["results"], Status, strict=True):
        assert {"configuration", "times", "invalidity", "correctness"} <= set(one)
        assert one["invalidity"] in words
        assert (one["correctness"] == 1) == (status is Status.OK)
    assert {one["invalidity"] for one in data["results"]} == words
    first = data["results"][0]
    assert first["measurements"] == [{"name": "time", "value": 1.5, "unit": "ms"}]
    assert first["times"]["runtimes"] == pytest.approx([1.5, 1.47, 1.575])
    assert first["configuration"]["n"] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"results": [{"configuration": {"block": 1}}]}',
            "result 0 was written by ",
        ),
        ('{"results": [{"configuration": {"ckprof_attempt": {"status": 1}}}]}', "result 0 cannot be used: "),
        ("{}", "is no T4 file: 'results'"),
        ("[1]", "is no T4 file: "),
        ("[1", "is no T4 file: "),
        ("\x00", "is no T4 file: "),
    ],
)
def test_other_files_are_rejected(tmp_path, text, message):
    file = tmp_path / "r.t4"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        list(t4.read(file, ImportHints()))
    assert str(caught.value).startswith(f"{file}: {message}")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        list(t4.read(tmp_path / "absent", ImportHints()))
