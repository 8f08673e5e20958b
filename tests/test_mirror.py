"""The tests of a module of the core are found at the place that its own tells."""

import pytest

from tests.places import ci_script


@pytest.fixture(scope="module")
def mirror():
    return ci_script("mirror")


@pytest.mark.parametrize(
    ("module", "place"),
    [
        ("ckprof/paths.py", "tests/test_paths.py"),
        ("ckprof/measure/worker/process.py", "tests/measure/worker/test_process.py"),
        ("converters/grammar.py", "tests/converters/test_grammar.py"),
        ("plugins/tuning/search/prior.py", "plugins/tuning/tests/search/test_prior.py"),
        ("plugins/tuning/_own.py", "plugins/tuning/tests/test_own.py"),
    ],
)
def test_the_place_of_tests(mirror, module, place):
    assert mirror.mirrored(module) == place


def test_every_module_of_the_core_has_its_tests_at_their_place(mirror):
    assert mirror.without_tests() == []


def test_exceptions_are_few_modules_that_exist_and_have_no_tests_each_with_a_reason(mirror):
    exceptions = mirror.exceptions()
    assert len(exceptions) <= mirror.MOST_EXCEPTIONS
    assert set(exceptions) <= set(mirror.core_modules())
    assert all(len(reason.split()) > 1 for reason in exceptions.values())
    assert [one for one in exceptions if (mirror.ROOT / mirror.mirrored(one)).exists()] == []


@pytest.mark.thorough
def test_a_file_that_executes_too_little_is_named(mirror, tmp_path, monkeypatch, capsys):
    """In a folder with two modules of which one is tested well and the other is only imported."""
    (tmp_path / "ckprof").mkdir()
    (tmp_path / "tests").mkdir()
    for name in ("ckprof", "tests"):
        (tmp_path / name / "__init__.py").touch()
    for name, call in (("tested", "f(1)"), ("imported", "1")):
        (tmp_path / "ckprof" / f"{name}.py").write_text(
            "def f(x):\n    if x:\n        y = x\n        z = y\n        return z\n    return x\n"
        )
        (tmp_path / "tests" / f"test_{name}.py").write_text(
            f"from ckprof.{name} import f\n\n\ndef test_it():\n    assert f\n    assert {call} == 1\n"
        )
    monkeypatch.setattr(mirror, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["mirror.py", "--measure", "ckprof/tested.py", "ckprof/imported.py"])
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert mirror.main() == 1
    assert capsys.readouterr().out.splitlines() == [
        " 83%  ckprof/tested.py",
        " 17%  ckprof/imported.py  too few",
    ]
