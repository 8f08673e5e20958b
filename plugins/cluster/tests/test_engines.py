"""Engines of plugins are found by their id, and what is none is reported."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode, PluginError, UsageError
from ckprof.kernels.requests import BuildOptions
from ckprof.option import options_of
from ckprof.paths import conf_root
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof.session import Session
from ckprof.settings import Settings
from ckprof.sweep.requests import SweepOptions
from ckprof.testing import check_contract
from ckprof.testing.contract import CheckVerdict
from ckprof.testing.plugins import Registering
from ckprof_plugins.cluster import sweep_worker
from ckprof_plugins.cluster.engine_sweep import choose_engine
from ckprof_plugins.cluster.engines import ENGINES, Pool
from ckprof_plugins.cluster.local import LocalEngine
from ckprof_plugins.cluster.messages import End, Reply, Task, encode
from ckprof_plugins.cluster.runner import EngineRunner

LIST = conf_root() / "forward" / "tests" / "nhwgc_fp16.conf"


class Nowhere:
    id = "nowhere"
    label = "no worker at all"

    def pools(self, request):
        return {Pool.RUN: 0}

    def open(self, request):
        raise NotImplementedError


def manager_with(*added):
    manager = PluginManager()
    manager.load_all()
    manager.register(Registering(*added), "extra")
    return manager


def test_engines_are_found_by_their_id():
    engines = Registry(manager_with(Nowhere())).entries(ENGINES)
    assert engines.ids == ("local", "nowhere", "parsl")
    assert engines.find("nowhere").label == "no worker at all"
    with pytest.raises(UsageError, match=r"unknown engine 'nowher'.*nowhere"):
        engines.find("nowher")


def test_what_is_no_engine_is_reported():
    with pytest.raises(PluginError, match=r"plugin extra: .* type object, which has no member"):
        _ = Registry(manager_with(object())).entries(ENGINES)
    with pytest.raises(PluginError, match=r"plugin extra: engine 'half': lacks label, open\(request\)"):
        _ = Registry(manager_with(SimpleNamespace(id="half", pools=None))).entries(ENGINES)
    other = Nowhere()
    other.id = "local"
    with pytest.raises(PluginError, match=r"two plugins provide the engine 'local': .* and extra"):
        _ = Registry(manager_with(other)).entries(ENGINES)


def choose(tmp_path, manager=None, **options):
    used = manager or manager_with(Nowhere())
    session = Session(settings=Settings(), manager=used, emit=lambda event: None)
    request = SimpleNamespace(build=BuildOptions())
    store = options.pop("store", tmp_path / "r.db")
    return choose_engine(session, request, SweepOptions(store=store), EngineRunner(**options))


def test_options_and_settings_name_the_engine(tmp_path):
    engine, request = choose(tmp_path, devices=(0, 1))
    assert (engine.id, request.devices, request.embedded) == ("local", (0, 1), True)
    assert request.folder == tmp_path / "r.db.sweep"
    settings = tmp_path / "c.toml"
    settings.write_text('engine = "nowhere"\n[transport]\nkind = "folder"\npath = "/shared"\n')
    engine, request = choose(tmp_path, cluster=settings)
    assert engine.id == "nowhere"
    assert str(request.folder).startswith("/shared/r-")
    assert choose(tmp_path, cluster=settings, engine="local")[0].id == "local"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"devices": (0, 1, 0)}, "--devices: 0 is named more than once"),
        ({"engine": "dask"}, "unknown engine 'dask'"),
        ({"engine": "local", "store": "shards/"}, "an engine merges the shards of its workers itself"),
    ],
)
def test_wrong_options(tmp_path, options, message):
    with pytest.raises(UsageError, match=message):
        choose(tmp_path, **options)


def test_devices_are_numbers_and_ranges():
    parse_devices = dict((field.name, option.parse) for field, option in options_of(EngineRunner))["devices"]
    assert [parse_devices(text) for text in ("0", "0,1", "0-3", "4, 6-7")] == [
        (0,),
        (0, 1),
        (0, 1, 2, 3),
        (4, 6, 7),
    ]
    for wrong in ("", "a", "1-", "-1", "0,,1", "0-x"):
        with pytest.raises(UsageError, match="or several such as 3,7-9"):
            parse_devices(wrong)


def test_the_engines_that_ship_run_a_payload_or_say_what_they_need(capsys):
    assert (
        main(["plugins", "--check", "ckprof_plugins.cluster.plugin", "--format", "json"]) == ExitCode.FAILED
    )
    tried = {
        check["object"]: (check["result"], check["detail"]) for check in json.loads(capsys.readouterr().out)
    }
    assert tried["engine 'local'"] == ("passed", "1 workers")
    assert (
        tried["engine 'parsl'"][0] == "not possible" and "needs --cluster FILE" in tried["engine 'parsl'"][1]
    )


class Mine(LocalEngine):
    id = "mine"


class Deaf(Mine):
    """An engine whose answers are others'."""

    def open(self, request):
        return super().open(replace(request, handler=f"{__name__}:other"))


def other(payload, slot):
    """A handler that answers something else."""
    return b"something else"


def test_an_engine_is_tried_with_a_payload():
    checks = check_contract(Registering(Mine()), LIST)
    assert [one.verdict for one in checks if one.what.startswith("engine ")] == [CheckVerdict.PASSED]
    with pytest.raises(AssertionError, match=r"engine 'mine'.*failed: .*expected b'daolyap'"):
        check_contract(Registering(Deaf()), LIST)


def test_workers_know_what_the_store_says_that_kernels_were_right_on(monkeypatch):
    bench, served = SimpleNamespace(second=SimpleNamespace(known={})), []

    def serve(task):
        served.append(bench.second.known)
        return Reply(task="", end=End.PROBED)

    runner = SimpleNamespace(serve=serve)
    monkeypatch.setattr(sweep_worker, "_open", lambda task, slot, stack: (runner, bench))
    for known in ({}, {"kernel": "1a2b3c4d"}):
        sweep_worker.handle(encode(Task(id="", run="", job="job", known=known)), SimpleNamespace())
    sweep_worker.close()
    assert served == [{}, {"kernel": "1a2b3c4d"}]
