"""What the system does to a command: streams, names, full disks, small memory, processes that are killed.

Each row of a table is a case: what is called, the exit code, and what is said. The last table has the cases
that are tried where their parts are tested.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest

from ckprof.cli.main import main
from ckprof.store.shard import ShardWriter
from ckprof.store.writer import StoreWriter
from ckprof_plugins.directions._convolution.csv_problems import COLUMNS
from tests.places import TESTS
from tests.store.samples import make_attempt

LIST = TESTS.parent / "conf/forward/tests/ngchw_depthwise.conf"
CKPROF = (sys.executable, "-m", "ckprof")
COMMAND = (*CKPROF, "list", "instances", "--conf")
LONG = "n" * 320
#: a name whose bytes are not UTF-8, as Python has it, and as messages and results have it
ODD, SHOWN = os.fsdecode(b"caf\xe9"), r"caf\udce9"
PROBLEM = "'conv -n 1 -c 8 -g 8 -k 8 -H 8 -W 8 -y 3 -x 3 -p 1 -q 1 -F 1'"
FIND = "64-28-28-1x1-64-28-28-8-0x0-1x1-1x1-0-NCHW-FP16-F=GemmFwd1x1_0_1:0.5,0,miopenConvolutionFwdAlgoGEMM\n"
RUN = f"fwd --conf list.conf --instance 0 --problem {PROBLEM}"


def run(conf, *more, redirect="", **variables):
    words = [*COMMAND, os.fsdecode(conf), *more]
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirect}', "bash", *words],
        capture_output=True,
        env={**os.environ, **variables},
        cwd=more[-1].parent if more else None,
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A list, a store, a shard, a table of AITER and a log, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv.copy())
    (tmp_path / "list.conf").write_bytes(LIST.read_bytes())
    (tmp_path / "find.txt").write_text(FIND)
    (tmp_path / "table.csv").write_text("cu_num,M,N,K,kernelId,splitK,us,kernelName\n")
    (tmp_path / "driver.log").write_text(f"MIOpenDriver {PROBLEM.strip(chr(39))}\n")
    attempts = [make_attempt(number, number) for number in range(20)]
    with StoreWriter(tmp_path / "results.db") as writer, ShardWriter(tmp_path / "shards") as shard:
        for attempt in attempts:
            writer.append(attempt)
            shard.append(attempt)
    shard.path.rename(tmp_path / "shard.ndjson")
    return tmp_path


@pytest.mark.parametrize(
    ("redirect", "variables", "said"),
    [
        (">&-", {}, b""),
        ("2>&-", {}, b""),
        (">&- 2>&- <&-", {}, b""),
        ("| true", {}, b""),
        ("", {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, rb"\xe9"),
    ],
)
def test_files_are_written_whatever_the_streams_are(tmp_path, redirect, variables, said):
    conf, exported = tmp_path / "caf\xe9.conf", tmp_path / "exported.json"
    conf.write_bytes(LIST.read_bytes())
    done = run(conf, "--format", "csv", "--export-json", exported, redirect=redirect, **variables)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
    assert exported.read_text().startswith("{")
    assert said in done.stdout


#: where a command takes the name "@" of a file or a folder
NAMES = [
    "list instances --conf @",
    "list instances --conf list.conf --export-json @",
    "list instances --conf list.conf -o @",
    "explain @:1",
    "convert @",
    "convert list.conf -o @",
    "run fwd --dry-run --conf @",
    "run fwd --dry-run --conf list.conf --problems @",
    "run fwd --dry-run --tree @",
    f"run {RUN} --json @",
    f"run {RUN} --build-dir @",
    f"run {RUN} --target hip --ck-root @",
    "list lists --config @",
    f"sweep {RUN} --store x.db --cluster @",
    *(f"results {action} @" for action in ("show", "check", "export -o x.csv", "prune --tag x")),
    "results import --store x.db @",
    "results merge --store x.db @",
    "results recover -o x.db @",
    *(f"results {action} results.db -o @" for action in ("show", "recover")),
    *(f"results {action} shard.ndjson --store @" for action in ("import", "merge")),
    "compare @ results.db",
    "compare results.db @",
    "compare results.db results.db -o @",
    "report @ -o x.html",
    "report results.db --format html -o @",
    "parity --conf @",
    "parity --conf list.conf -o @",
    "diff @ list.conf",
    "diff list.conf @",
    "diff list.conf list.conf -o @",
    "audit @",
    "audit table.csv --conf @",
    "audit table.csv --tree @",
    "audit table.csv -o @",
    "identify text -o @",
    "identify text --conf @",
    "import @ --store x.db",
    "generate fwd --conf @ --build-dir x",
    "generate fwd --conf list.conf --build-dir @",
    "build fwd --conf list.conf --instance 0 --build-dir @",
    f"check-support fwd --conf @ --problem {PROBLEM}",
    "inspect @",
    "problems from-log @",
    "problems convert @",
    "doctor -o @",
    "validate @ results.db",
]


@pytest.mark.parametrize("command", NAMES)
def test_a_name_that_no_file_can_have(folder, capsys, command):
    assert main([word.replace("@", LONG) for word in shlex.split(command)]) == 3
    said = capsys.readouterr().err.strip()
    assert LONG in said and said.endswith("File name too long")
    assert not [path.name for path in folder.iterdir() if path.name.startswith(("x", "n"))]


#: what reads "@", and what of it is written: messages and results spell its bytes out
READ = [
    "list instances --conf @.conf",
    "list instances --conf @.conf --format json -o @.out",
    "list instances --conf @.conf --format csv -o @.out",
    "list instances --conf @.conf --export-json @.out",
    "explain @.conf:3",
    "convert @.conf -o @/",
    "run fwd --dry-run --conf @.conf --problems @.log",
    "parity --conf @.conf --format json -o @.out",
    "diff @.conf list.conf --format json -o @.out",
    "generate fwd --conf @.conf --build-dir x",
    "results show @.db",
    "results check @.db",
    "results export @.db -o @.csv",
    "results recover @.db -o @2.db",
    "results prune @.db --tag x",
    "results import @.ndjson --store @2.db",
    "import @.txt --consumer miopen --arch gfx942 --store @2.db --trust",
    "results merge @.ndjson --store @2.db",
    "compare @.db @.db --format json -o @.out",
    "compare @.db @.db --format junit -o @.out",
    "report @.db -o @.html",
    "audit @.csv --format sarif -o @.out",
    "audit @.csv --format json -o @.out",
    "identify @.conf --format json -o @.out",
    "problems convert @.log -o @.out",
]


@pytest.mark.parametrize("command", READ)
def test_a_name_that_is_not_utf_8_is_as_good_as_any(folder, capsys, command):
    for path in [*folder.iterdir()]:
        if path.suffix and path.is_file():
            shutil.copy(path, folder / f"{ODD}{path.suffix}")
    (folder / ODD).mkdir()
    words = [word.replace("@", ODD) for word in shlex.split(command)]
    assert main(words) == 0, capsys.readouterr().err
    if "-o @.out" in command:
        text = (folder / f"{ODD}.out").read_text(encoding="utf-8")
        assert text and ("json" not in command or json.loads(text))


def test_odd_names_are_refused_or_kept(folder, capsys):
    assert main(["generate", "fwd", "--conf", "list.conf", "--build-dir", ODD]) == 3
    assert f"{SHOWN}: the name is not UTF-8" in capsys.readouterr().err
    assert not (folder / ODD).exists()
    odd = folder / f"{ODD}.conf"
    shutil.copy("list.conf", odd)
    assert main(["convert", str(odd), "--dtype", "fp32", "-o", str(odd)]) == 2
    assert "is the list itself" in capsys.readouterr().err
    assert odd.read_bytes() == LIST.read_bytes()


@pytest.mark.parametrize("command", ["list instances --conf list.conf -o @", "results show results.db -o @"])
def test_links_that_go_round_are_said(folder, capsys, command):
    (folder / "round").symlink_to("round")
    assert main([word.replace("@", "round") for word in shlex.split(command)]) == 3
    assert "round: cannot follow: the symbolic links go round in a circle" in capsys.readouterr().err


#: what is written to a disk of so many KiB that lies at "@", and the file that is left of it
FULL = [
    (4, "list instances --conf list.conf --format json -o @/x.json", "cannot write: No space left", ""),
    (4, "list instances --conf list.conf --export-json @/x.json", "cannot write: No space left", ""),
    (4, "convert list.conf -o @/x.d", "cannot write: No space left", "x.d"),
    (64, "generate fwd --conf list.conf --build-dir @/x", "cannot write the file: No space left", "x"),
    (60, "results merge shard.ndjson --store @/x.db", "the disk is full", ""),
    (60, "results recover results.db -o @/x.db", "the disk is full", ""),
    (200, "results merge shard.ndjson --store @/x.db", "the disk is full", "x.db"),
    (200, "results import shard.ndjson --store @/x.db", "the disk is full", "x.db"),
    (4, "results export results.db -o @/x.ndjson", "cannot write: No space left", ""),
    (8, "report results.db -o @/x.html", "cannot write: No space left", ""),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("size", "command", "said", "left"), FULL)
def test_a_full_disk_leaves_what_can_be_read(folder, size, command, said, left):
    disk = folder / "disk"
    disk.mkdir()
    # a disk of its own, which is gone when the shell ends
    script = f"""mount -t tmpfs -o size={size}k none disk && "$@"
        code=$?; ls disk; [ -e disk/x.db ] && {shlex.join(CKPROF)} results check disk/x.db; exit $code"""
    words = shlex.split(command.replace("@", "disk"))
    shell = ["unshare", "--mount", "--map-root-user", "bash", "-c", script, "bash", *CKPROF, *words]
    done = subprocess.run(shell, capture_output=True, text=True)
    if "unshare: " in done.stderr or "mount: " in done.stderr:
        pytest.skip(f"no disk of its own can be made here: {done.stderr.strip()}")
    assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (3, True, False), done.stderr
    names = {line for line in done.stdout.split("\n") if line.startswith("x")} - {"x.db-shm", "x.db-wal"}
    assert {name for name in names if not name.endswith(".lock")} == {*filter(None, [left])}
    assert left != "x.db" or "disk/x.db: sound" in done.stdout


#: what is refused, or read without a part of it: exit code, and what is said
REFUSED = [
    ("identify none.log", 3, "none.log: no such file"),
    ("identify .", 3, ".: is a folder, expected a file"),
    ("identify deep.json", 3, "deep.json: is no JSON: nested too deeply"),
    ("problems convert list.json", 3, "list.json: not a list of problems: nested too deeply"),
    ("list instances --conf list.conf -o x/../list.conf", 2, "the command reads this file, which its result"),
    ("list instances --conf list.conf --export-json list.conf", 2, "list.conf: the command reads this file"),
    (f"run {RUN} --json list.conf", 2, "list.conf: the command reads this file"),
    ("results show results.db -o results.db", 2, "results.db: the command reads this file"),
    ("report results.db --format html -o results.db", 2, "results.db: the command reads this file"),
    ("audit table.csv -o table.csv", 2, "table.csv: the command reads this file"),
    ("list instances --conf list.conf -o -", 2, "'-' is not a file: omit the option for standard output"),
    ("list instances --conf list.conf --export-json -", 2, "'-' is not a file"),
    ("run fwd --conf list.conf --dry-run --json -", 2, "'-' is not a file"),
    ("results export results.db --format csv -o -", 2, "'-' is not a file"),
    (
        "list instances --conf list.conf --dtype fp16 --dtype fp32",
        2,
        "--dtype is given twice, it takes one value",
    ),
    ("list instances --conf list.conf --si-as split_image", 2, "--si-as: list.conf names no kernels"),
    ("list instances --conf traits.json", 3, "traits.json:1:19: pipeline stands 2 times in one object"),
    ("results merge wrong.txt --store x.db", 3, "wrong.txt:1: this is not a shard"),
    ("results merge . --store x.db", 0, "excluded 1 store: results.db; 'ckprof results export' makes"),
    (
        "results import bench.csv --store x.db --direction fwd",
        1,
        "bench.csv:2: the row cannot be used: non_zero: ",
    ),
    (
        "results import bench.csv --store x.db --direction fwd",
        1,
        "bench.csv:4: the row cannot be used: 16 values",
    ),
]


@pytest.mark.parametrize(("command", "code", "said"), REFUSED)
def test_what_is_refused_is_said(folder, capsys, command, code, said):
    (folder / "deep.json").write_text("[" * 200_000)
    nested = f'{{"schema": "ckprof.problems", "version": 1, "problems": [{{"a": {"[" * 200_000}'
    (folder / "list.json").write_text(nested)
    (folder / "wrong.txt").write_text("no shard\n")
    (folder / "traits.json").write_text(
        '{"trait_config": {"pipeline": 1, "pipeline": 2}, "variant": "forward"}'
    )
    row = "x,0,1,8,8,1,8,8,3,3,1,1,1,1,0.5,0.1,"
    (folder / "bench.csv").write_text(
        "\n".join([",".join(COLUMNS), f"{row}maybe", f"{row}True", row[:-1], ""])
    )
    assert main(shlex.split(command)) == code
    shown = capsys.readouterr()
    assert said in shown.err and not shown.out.startswith("[")
    assert not (folder / "-").exists() and (folder / "x.db").exists() == (code < 2)


#: what stands where the cache should be, and how it is made
NO_CACHES = {
    "a file": lambda path: path.touch(),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("none/none"),
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize("name", NO_CACHES)
def test_a_cache_that_cannot_be_one_is_named(folder, capsys, monkeypatch, name):
    cache = folder / "cache"
    NO_CACHES[name](cache)
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(cache))
    assert main(["list", "directions"]) == 0
    assert main(["generate", "fwd", "--conf", "list.conf", "--instance", "0", "--build-dir", "x"]) == 5
    said = capsys.readouterr().err
    assert f"ckprof: {cache}/" in said and "set CKPROF_CACHE_DIR to a folder" in said


def test_a_current_folder_that_is_gone_is_said(folder):
    script = f'mkdir gone && cd gone && rmdir ../gone && "$@" {folder}/list.conf'
    done = subprocess.run(["bash", "-c", script, "bash", *COMMAND], capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    assert "the current folder or the system: No such file or directory" in done.stderr


#: file of tests -> cases, and the tests that try them
ELSEWHERE = {
    "tests/kernels/test_fake_compiler.py": {
        "a read-only cache in which all is built": "a_read_only_cache_still_serves"
    },
    "tests/cli/test_memory.py": {
        "a small address space, with OpenBLAS's signals": "a_small_address_space_is_said"
    },
    "tests/kernels/test_cache.py": {"entries that are links, pipes, folders": "drops_damaged_entries"},
    "tests/test_paths.py": {"a cache that is read-only": "builds_are_elsewhere_where_the_cache_is_read_only"},
    "tests/e2e/test_interruption.py": {
        "a killed build system": "a_killed_build_system_leaves_no_compiler",
        "a killed build": "nothing_outlives_a_killed_build",
    },
    "tests/measure/worker/test_process.py": {
        "a pause of all processes": "a_pause_of_all_processes_is_no_time_out"
    },
    "plugins/emulator/tests/device/test_code_objects.py": {
        "mutated code objects": "mutated_code_objects_end_with_errors_or_results",
        "10,000 of them below sanitizers": "ten_thousand_mutations_below_sanitizers",
    },
    "tests/measure/test_workers.py": {
        "interleaved runs of one Profiler": "runs_of_one_thread_do_not_wait_for_each_other"
    },
    "tests/test_argument_types.py": {
        "arguments of wrong types": "wrong_types_are_named",
        "items and fields of wrong types, a closed store": "wrong_calls_are_named",
        "pickling": "what_can_be_pickled",
    },
    "tests/plugin/test_boundary.py": {
        "members of plugins that raise": "whatever_a_member_raises_is_reported"
    },
    "tests/plugin/test_manager.py": {"hooks that raise": "whatever_a_hook_raises_is_reported"},
    "tests/plugin/test_hostile_commands.py": {"properties that raise": "a_property_that_raises_is_named"},
    "plugins/consumers/tests/test_export.py": {
        "exports name the option that is missing": "what_is_missing_is_said"
    },
}


@pytest.mark.parametrize("file", ELSEWHERE)
def test_cases_that_are_tried_elsewhere_are_there(file):
    path = TESTS.parent / file
    # a feature package may have been removed with its tests
    if not path.exists() and file.startswith("plugins/"):
        pytest.skip(f"{file} is not installed")
    text = path.read_text()
    assert [name for name in ELSEWHERE[file].values() if f"\ndef test_{name}(" not in text] == []
