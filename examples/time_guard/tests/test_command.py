"""The command is listed in its group, measures into a store, and has the exit codes that it should."""

from importlib.metadata import entry_points

import ckprof_time_guard
import pytest

import ckprof
from ckprof.cli.main import main
from ckprof.paths import conf_root
from ckprof.testing import write_list

#: an installed package has its command; one that is not is named as a plugin
INSTALLED = entry_points(group="ckprof.commands", name="time-guard")
PLUGIN = () if INSTALLED else ("--plugin", f"{ckprof_time_guard.__name__}.command")
PROBLEM = "conv -n 1 -c 64 -H 14 -W 14 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"


@pytest.fixture
def call(monkeypatch, tmp_path, capsys):
    """Call ckprof in a folder with a list of one kernel; return exit code, output and messages."""
    monkeypatch.chdir(tmp_path)
    lines = (conf_root() / "forward" / "tests" / "nhwgc_fp16.conf").read_text().splitlines()
    write_list(tmp_path / "one_nhwgc_fp16.conf", lines[1:2])

    def call(*arguments):
        try:
            code = main([*PLUGIN, *arguments])
        except SystemExit as end:  # help was printed
            code = end.code
        return code, *capsys.readouterr()

    return call


def guard(*options):
    """Return the arguments of a call."""
    measured = ("--conf", "one_nhwgc_fp16.conf", "--problem", PROBLEM, "--store", "guarded.db")
    return ("time-guard", "fwd", *measured, *options)


def test_it_is_listed_with_its_options(call):
    code, out, _ = call("--help")
    assert code == 0 and "\n  time-guard " in out.split("\nmeasure at scale:\n")[1].split("\n\n")[0]
    code, out, _ = call("time-guard", "--help")
    assert code == 0 and "--slower PERCENT" in out


def test_it_measures_into_the_store_and_compares_with_it(call):
    code, out, _ = call(*guard())
    assert code == 0 and out.startswith("kernel,ms,limit_ms\ngrouped_conv_fwd")
    with ckprof.Store("guarded.db") as store:
        assert len(list(store.query(tag="time-guard"))) == 1
    assert call(*guard("--slower", "1e9"))[0] == 0
    code, _, err = call(*guard("--limit", "1e-9"))
    assert code == 1 and "at most 1e-09 ms were expected" in err


def test_wrong_usage_and_wrong_input_have_exit_codes_of_their_own(call):
    assert call(*guard("--slower", "-1"))[0] == 2
    assert call("time-guard", "fwd")[0] == 2
    assert call(*guard("--conf", "none.conf"))[0] == 3
