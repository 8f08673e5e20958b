"""The layers hold, the core knows no plugin by name, packages keep their budget, modules have their tests."""

import ast
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

from ckprof.cli.commands import command_table
from ckprof.plugin import hookspecs
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof_plugins import FEATURE_PACKAGES
from tests.called import COMMANDS
from tests.cases import each
from tests.places import ci_script, left_out

ROOT = Path(__file__).parent.parent
CORE = sorted((ROOT / "ckprof").rglob("*.py"))

#: A module imports only from its own layer or from one above it in this list.
LAYERS = (
    ("sanitize",),
    ("errors", "version"),
    ("private_folders",),
    ("paths", "files", "orphans", "python_child", "option"),
    ("model",),
    ("settings",),
    ("plugin",),
    ("events", "session"),
    ("problems", "lists"),
    ("kernels",),
    ("measure",),
    ("store",),
    ("sweep",),
    ("compare",),
    ("report", "parity"),
    ("results", "profiler", "jit_kernels"),
    ("testing",),
    ("cli",),
)
DEPTH = {name: depth for depth, names in enumerate(LAYERS) for name in names}

HOOKS = {
    name: function
    for name, function in inspect.getmembers(hookspecs, inspect.isfunction)
    if name.startswith("ckprof_")
}


@cache
def nodes_of(path):
    return tuple(ast.walk(ast.parse(path.read_text())))


@cache
def text_of(folder, *without):
    """Return all modules below a folder but some as one text."""
    return "".join(path.read_text() for path in (ROOT / folder).rglob("*.py") if path not in without)


def imports(path, *, types):
    """Return the modules that a file imports, at any depth.

    :param types: those under ``TYPE_CHECKING`` as well.
    """
    typing_only = {
        node
        for branch in nodes_of(path)
        if isinstance(branch, ast.If) and getattr(branch.test, "id", "") == "TYPE_CHECKING"
        for statement in branch.body
        for node in ast.walk(statement)
    }
    modules = set()
    for node in nodes_of(path):
        if not types and node in typing_only:
            continue
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
            modules.update(f"{node.module}.{alias.name}" for alias in node.names)
    return modules


def module_name(path):
    """Return what a file of the core is imported as."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@each(path=CORE)
def test_the_core_imports_downwards_only(path):
    parts = path.relative_to(ROOT / "ckprof").with_suffix("").parts
    depth = DEPTH.get(parts[0], len(LAYERS))
    for module in imports(path, types=True):
        # what is public in Python may be a plugin's
        if parts != ("__init__",):
            assert not module.startswith(("ckprof_plugins", "ckprof_converters", "plugins", "converters"))
        if module.startswith("ckprof."):
            imported = module.removeprefix("ckprof.")
            assert DEPTH.get(imported.split(".")[0], 0) <= depth, (
                f"{path.name} imports {module} from a layer below its own"
            )


#: how packages are named where they are imported, as a module or from the package of all
NAMED = re.compile(r"\b(?:ckprof_)?plugins(?:\.(\w+)| import)")
#: how code asks whether a feature package is installed, and how tests do
ASKED = re.compile(r"(?:find_spec|importorskip)\(f?\"ckprof_plugins\.(\w+)")


@pytest.mark.parametrize("folder", ["ckprof", "converters", "plugins", "tests"])
def test_what_imports_a_feature_package_says_so(folder):
    """Packages do that, whose commands need it or that ask whether it is there, and tests that ask."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        text = path.read_text()
        own = path.relative_to(ROOT / "plugins").parts[0] if folder == "plugins" else ""
        # most name none, which takes no parser
        if not ({*NAMED.findall(text)} - {own}) & {*FEATURE_PACKAGES, ""}:
            continue
        imported = {
            name
            for module in imports(path, types=False)
            for name in re.findall(r"^(?:ckprof_plugins|plugins)\.(\w+)", module)
            if name in FEATURE_PACKAGES and name != own
        }
        if imported:
            said = {*ASKED.findall(text)} if folder != "ckprof" else set()
            assert imported <= said | needs_of(own), path.relative_to(ROOT)


@cache
def needs_of(package):
    """Return the other packages that a feature package uses."""
    if package not in FEATURE_PACKAGES:
        return set()
    owner = f"ckprof_plugins.{package}"
    needed = {name for command in command_table() if command.owner == owner for name in command.needs}
    return needed | {*ASKED.findall(text_of(f"plugins/{package}"))}


def test_no_module_imports_itself_in_the_end():
    names = {module_name(path): path for path in CORE}
    imported = {
        name: {other for other in imports(path, types=False) if other in names and other != name}
        for name, path in names.items()
    }
    while True:
        # what imports nothing that is left cannot be a part of a cycle
        free = {name for name, others in imported.items() if not others & imported.keys()}
        if not free:
            break
        imported = {name: others for name, others in imported.items() if name not in free}
    assert not imported, f"cycles among {sorted(imported)}"


def test_the_core_names_no_direction_pipeline_or_target():
    manager = PluginManager()
    manager.load_all()
    registry = Registry(manager)
    ids = {*registry.operations.ids, *registry.pipelines.ids, *registry.targets.ids}
    ids |= {"bwd_data", "bwd_weight", "two_stage", "stream_k", "depthwise", "hip"}
    for path in CORE:
        for node in nodes_of(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value not in ids, f"{path}:{node.lineno} names {node.value!r}"


def test_only_the_command_line_prints():
    for path in CORE:
        if path.relative_to(ROOT / "ckprof").parts[0] == "cli" or path.name in ("worker.py", "manager.py"):
            continue
        calls = [n for n in nodes_of(path) if isinstance(n, ast.Call)]
        assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"], path


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented_with_its_arguments(hook):
    arguments = ", ".join(inspect.signature(HOOKS[hook]).parameters)
    assert f"`{hook}({arguments})`" in (ROOT / "docs" / "plugins.md").read_text()


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_called_and_tested(hook):
    core = text_of("ckprof", Path(hookspecs.__file__))
    assert f'"{hook}"' in core, f"nothing calls {hook}"
    tests = text_of("tests", Path(__file__)) + text_of("plugins")
    assert re.search(rf"\b{hook}\b", tests), f"no test uses {hook}"


def test_the_architecture_page_has_every_package():
    page = (ROOT / "docs" / "architecture.md").read_text()
    core, outside = page.split("## Core and feature packages")[1].split("| outside of the core")
    picture, table = core.split("| core package |")
    packages = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    folders = {path.parent.name for path in (ROOT / "ckprof").glob("*/__init__.py")}
    # a file that is as much as a package, and a package for tests of plugins
    assert sorted({*packages} ^ folders) == ["profiler", "testing"]
    assert [name for name in packages if not re.search(rf"\b{name}\b", picture)] == []
    depths = [DEPTH[name] for name in packages]
    assert depths == sorted(depths), "the table follows the order of imports"
    named = set(re.findall(r"`(plugins/\w+|converters)/?`", outside.split("## From one conf line")[0]))
    here = {f"plugins/{path.parent.name}" for path in (ROOT / "plugins").glob("*/__init__.py")} | {
        "converters"
    }
    assert here <= named
    assert not [name for name in named - here if not left_out(ROOT / name)]


def test_the_architecture_page_names_files_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text()
    for name in re.findall(r"`([\w/]+/[\w/]+\.(?:py|h|hpp))`", page):
        paths = [ROOT / name, ROOT / "ckprof" / name]
        assert any(path.is_file() or left_out(path) for path in paths), name


@each(command=[command.name for command in COMMANDS])
def test_every_command_is_in_the_readme(command):
    assert f"`ckprof {command}`" in (ROOT / "README.md").read_text()


def test_nothing_depends_on_the_place_of_development():
    pattern = re.compile(r"\.\./shared|/(?:work|farm)/")
    for folder in ("ckprof", "plugins", "converters", "docs", "tests", "examples", ".ci"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".py", ".hpp", ".cpp", ".h", ".j2", ".md", ".toml"} and path != Path(__file__):
                assert not pattern.search(path.read_text(errors="replace")), path


@pytest.fixture(scope="module")
def budget():
    return ci_script("budget")


@pytest.mark.thorough
def test_packages_are_within_their_budget_of_code(budget):
    assert budget.excesses(budget.counted()) == []
    text = (
        '"""One."""\n\n# two\nx = 3  # three\n\n\ndef f():\n    """Four."""\n    return (\n        5\n    )\n'
    )
    assert budget.code_lines(text, budget.ast.parse(text)) == 5


def test_records_are_found_through_their_bases(budget, tmp_path, monkeypatch):
    (tmp_path / "ckprof").mkdir()
    (tmp_path / "ckprof" / "a.py").write_text(
        "@dataclass(frozen=True)\nclass A: pass\nclass B(msgspec.Struct): pass\n"
        "class C(B): pass\nclass D: pass\n"
    )
    monkeypatch.setattr(budget, "ROOT", tmp_path)
    assert budget.counted()["ckprof"]["records"] == 3


def test_what_is_above_its_limit_is_named(budget, monkeypatch):
    monkeypatch.setattr(budget, "limits", lambda: {"ckprof": {"code": 1, "records": 1}})
    found = {"ckprof": budget.Counter(code=2, records=1), "plugins": budget.Counter(code=9)}
    assert budget.excesses(found) == ["ckprof: 2 code, limit 1"]


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


def test_modules_of_the_core_have_their_tests_but_few_with_a_reason(mirror):
    assert mirror.without_tests() == []
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
