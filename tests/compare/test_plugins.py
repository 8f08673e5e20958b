"""Formats of comparisons that plugins bring."""

from __future__ import annotations

import pytest

from ckprof import hookimpl
from ckprof.errors import PluginError
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.protocols import ComparisonFormat
from ckprof.plugin.registry import Registry


class Plugin:
    @hookimpl
    def ckprof_register(self, registry):
        registry.add(
            ComparisonFormat(id="count", label="a number", render=lambda found: str(len(found.rows)))
        )


def registry_of(*plugins: object, shipped: bool = False) -> Registry:
    manager = PluginManager()
    if shipped:
        manager.load_all()
    for number, plugin in enumerate(plugins):
        manager.register(plugin, f"plugin{number}")
    return Registry(manager).check_all()


def test_plugins_add_formats() -> None:
    registry = registry_of(Plugin(), shipped=True)
    assert registry.comparison_formats.ids == ("count", "csv", "github", "json", "junit", "md", "table")


def test_two_formats_with_the_same_id_are_an_error() -> None:
    with pytest.raises(PluginError, match="two plugins provide the comparison format 'count'"):
        registry_of(Plugin(), Plugin())


def test_the_command_line_takes_them(tmp_path, monkeypatch, capsys) -> None:
    from ckprof.cli.main import main
    from ckprof.store.writer import StoreWriter
    from tests.measured import Made, attempts

    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "from ckprof import hookimpl\n"
        "from ckprof.plugin.protocols import ComparisonFormat\n"
        "@hookimpl\n"
        "def ckprof_register(registry):\n"
        "    registry.add(ComparisonFormat(id='n', label='n', render=lambda c: f'{len(c.rows)} rows'))\n"
    )
    with StoreWriter(tmp_path / "a.db") as writer:
        writer.append_many(attempts(Made(rounds=4)))
    assert main(["compare", "a.db", "a.db", "--plugin", "mine.py", "--format", "n"]) == 0
    assert capsys.readouterr().out == "12 rows"
