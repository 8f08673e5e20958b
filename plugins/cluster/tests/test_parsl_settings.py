"""Settings for Parsl: every example of the documentation is read, and its providers are made."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof.errors import InputError, ToolchainError, UsageError
from ckprof_plugins.cluster.child import slot_of
from ckprof_plugins.cluster.engines import EngineRequest, Pool
from ckprof_plugins.cluster.parsl_engine import ParslEngine, failing_jobs, own_address, wrong_value
from ckprof_plugins.cluster.settings import PROVIDERS, read_parsl_settings, read_settings

ROOT = Path(__file__).parents[3]
EXAMPLES = re.findall(
    r"^```toml\n(.*?)^```",
    (ROOT / "plugins" / "cluster" / "docs" / "cluster.md").read_text(),
    re.DOTALL | re.MULTILINE,
)
NAMES = ["workstation", "slurm", "kubernetes"]

needs_parsl = pytest.mark.skipif(
    importlib.util.find_spec("parsl") is None, reason="Parsl is not installed: pip install 'ckprof[cluster]'"
)


def write(tmp_path, text):
    path = tmp_path / "cluster.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "slots"), list(zip(EXAMPLES, [(0, 4), (64, 64), (0, 16)], strict=True)), ids=NAMES
)
def test_examples_of_the_documentation_are_right(tmp_path, text, slots):
    settings = read_settings(write(tmp_path, text))
    assert settings.engine == "parsl"
    found = read_parsl_settings(settings)
    assert (found.slots(Pool.BUILD), found.slots(Pool.RUN)) == slots
    assert found.local is (slots == (0, 4))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("engine = 'parsl'\n", None, "no table [pools.run]"),
        ("[pools.run]\nprovider = 'slurn'\ngpus = 1\n", 2, "unknown provider 'slurn' (known: local, slurm"),
        ("[pools.run]\nprovider = 'slurm'\n", 1, "gpus is missing"),
        ("[pools.run]\ngpus = 2\nwalltime = '8h'\n", 3, "provider local has no walltime"),
        ("[pools.run]\nprovider = 'slurm'\ngpus = 2\nwalltime = '8h'\n", 4, "expected hours:minutes:seconds"),
        ("[pools.run]\ngpus = 2\nqueue = 'x'\n", 3, "provider local has no queue"),
        ("[pools.run]\ngpus = 2\nnodes = 3\n", 3, "use blocks"),
        ("[pools.run]\ngpus = 2\nblocks = 0\n", 3, "blocks is 0, expected at least 1"),
        ("[pools.run]\ngpus = 2\n\n[pools.build]\ngpus = 1\n", 5, "a pool that builds has workers"),
        ("[pools.run]\nprovider = 'kubernetes'\ngpus = 1\n", 1, "needs options.image"),
        ("[pools.run]\ngpus = 2\nlauncher = 'ssh'\n", 3, "unknown launcher 'ssh'"),
        ("[pools.run]\ngpu = 2\n", 2, "unknown key 'gpu'"),
        ("[pools.run]\ngpus = 'two'\n", 2, "pools.run.gpus: Expected"),
        ("[pools.run]\ngpus = 2\n\n[pool.build]\nworkers = 1\n", 4, "there is no table 'pool'"),
    ],
)
def test_wrong_settings_are_reported_with_their_line(tmp_path, text, line, message):
    settings = read_settings(write(tmp_path, text))
    with pytest.raises(InputError) as error:
        read_parsl_settings(settings)
    assert message in str(error.value)
    assert error.value.line == line


def test_parsl_needs_settings_and_no_devices(tmp_path):
    with pytest.raises(UsageError, match="needs --cluster FILE"):
        ParslEngine().pools(EngineRequest(handler="x:y"))
    settings = read_settings(write(tmp_path, EXAMPLES[0]))
    with pytest.raises(UsageError, match="--devices is for the engine of this machine"):
        ParslEngine().pools(EngineRequest(handler="x:y", settings=settings, devices=(0,)))


#: in a process of its own: importing Parsl takes a while, and brings warnings of other packages with it
_CONSTRUCT = """
import sys
from pathlib import Path
from ckprof_plugins.cluster.engines import EngineRequest, Pool
from ckprof_plugins.cluster.settings import read_settings
from ckprof_plugins.cluster.parsl_engine import ParslEngine, make_executor
from ckprof_plugins.cluster.settings import PROVIDERS, PoolTable, read_parsl_settings
from ckprof_plugins.cluster.parsl_engine import make_provider
engine = ParslEngine()
for name in sys.argv[1:]:
    settings = read_settings(Path(name))
    print(dict(engine.pools(EngineRequest(handler="x:y", settings=settings)))[Pool.RUN])
    found = read_parsl_settings(settings)
    if found.pools.run.provider != "kubernetes":
        for pool in Pool:
            if found.pool(pool) is not None:
                executor = make_executor(pool, found, Path("keys"), 0)
                assert executor.encrypted
                print(pool.value, type(executor.provider).__name__, executor.available_accelerators)
for name, form in PROVIDERS.items():
    if name != "kubernetes":
        walltime = "01:00:00" if form.walltime else ""
        queue = "q" if form.queue else ""
        provider = make_provider(PoolTable(provider=name, gpus=2, walltime=walltime, queue=queue))
        print(type(provider).__name__, getattr(provider, "walltime", ""), queue in str(vars(provider)))
try:
    engine.pools(EngineRequest(handler="x:y", settings=read_settings(Path("wrong.toml"))))
except Exception as exc:
    print(exc)
"""


@needs_parsl
def test_providers_are_made_without_a_cluster(tmp_path):
    for name, text in zip(NAMES, EXAMPLES, strict=True):
        (tmp_path / f"{name}.toml").write_text(text)
    wrong = EXAMPLES[1].replace("exclusive", "exclusively")
    (tmp_path / "wrong.toml").write_text(wrong)
    done = subprocess.run(
        [sys.executable, "-c", _CONSTRUCT, *(f"{name}.toml" for name in NAMES)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:5] == [
        "4",
        "run LocalProvider ['0', '1', '2', '3']",
        "64",
        "build SlurmProvider []",
        f"run SlurmProvider {[str(number) for number in range(8)]}",
    ]
    made = [line.split() for line in lines if "Provider " in line and not line.startswith(("run", "build"))]
    assert [line[0] for line in made] == [form.cls for form in PROVIDERS.values() if not form.required]
    assert all(line[-1] == "True" for line in made)
    number = next(index for index, line in enumerate(wrong.splitlines(), 1) if "exclusively" in line)
    assert lines[-1].startswith(f"wrong.toml:{number}: provider slurm has no parameter 'exclusively'")


@pytest.mark.parametrize(
    ("environment", "pinned", "label"),
    [
        ({"CUDA_VISIBLE_DEVICES": "3", "ROCR_VISIBLE_DEVICES": "3"}, True, "3"),
        ({"ROCR_VISIBLE_DEVICES": "GPU-abc"}, True, "GPU-abc"),
        ({"PARSL_WORKER_RANK": "5"}, True, "-worker-5"),
        ({"CUDA_VISIBLE_DEVICES": "3"}, False, "-worker-0"),
    ],
)
def test_workers_name_their_device_as_their_host_does(monkeypatch, environment, pinned, label):
    for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "PARSL_WORKER_RANK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    slot = slot_of(pinned)
    assert slot.device == 0 and slot.label.endswith(label)


def test_the_task_of_a_worker_needs_no_parsl():
    code = (
        "import sys\n"
        "import ckprof_plugins.cluster.child, ckprof_plugins.cluster.plugin\n"
        "print(any(name.split('.')[0] == 'parsl' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@needs_parsl
def test_jobs_bring_keys_where_no_folder_is_shared(tmp_path):
    """The shell of a job writes files from which Parsl's client reads what its server reads from its own."""
    code = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from ckprof_plugins.cluster.parsl_engine import make_keys\n"
        "launch = 'cat {cert_dir}/{{which}}.key_secret; stat -c %a {cert_dir}'\n"
        "_, launch = make_keys(Path('keys'), launch)\n"
        "print(json.dumps([launch.format(cert_dir='x').format(which=w) for w in ('server', 'client')]))\n"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    kept = {path.name: path.read_text() for path in (tmp_path / "keys" / "certificates").iterdir()}
    for name, command in zip(("server", "client"), json.loads(made.stdout), strict=True):
        written = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
        keys = dict(re.findall(r'^ *(\S+)-key = "(.*)"$', written, re.MULTILINE))
        own = dict(re.findall(r'^ *(\S+)-key = "(.*)"$', kept[f"{name}.key_secret"], re.MULTILINE))
        assert keys["public"] == own["public"] and written.endswith("700\n")
        # the server's secret key does not travel
        assert (keys["secret"] == own["secret"]) is (name == "client")


def provider(nodes: int = 1, name: str = "x", parallelism=1, exclusive=True, environment=None): ...


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("nodes", 2, ""),
        ("nodes", "two", "int"),
        ("nodes", True, "int"),
        ("name", 3, "str"),
        ("parallelism", 0.5, ""),
        ("parallelism", "many", "number"),
        ("exclusive", "no", "bool"),
        ("environment", ["anything"], ""),
    ],
)
def test_values_of_another_type_are_found(name, value, expected):
    parameter = inspect.signature(provider, eval_str=True).parameters[name]
    assert wrong_value(parameter, value) == expected
    assert wrong_value(inspect.signature(provider).parameters[name], value) == expected


def test_an_address_is_one_of_this_machine():
    assert own_address("localhost") in ("127.0.0.1", "::1")
    # of networks for documentation
    for name in ("192.0.2.1", "no.such.host.invalid", "a" * 300, ""):
        with pytest.raises(ToolchainError, match=r"parsl\.address .* cannot be used: .*; name an address"):
            own_address(name or "256.1.1.1")


def job(state="FAILED", message=None, code=None, said=None):
    return SimpleNamespace(
        state=SimpleNamespace(name=state),
        message=message,
        exit_code=code,
        stderr_summary=said,
        stdout_summary="printed",
    )


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ([job("RUNNING")], ""),
        ([job(), job("RUNNING")], ""),
        ([job()], ""),
        (
            [job(), job(said="sbatch:\n\tnot\x1b found", code=127)],
            r"exit status 127; sbatch: not\u001b found",
        ),
        ([job(), job("MISSING", message="it is gone")], "it is gone; printed; scripts"),
    ],
)
def test_jobs_that_all_fail_are_told_in_one_line(jobs, said, tmp_path):
    seen = []
    executor = SimpleNamespace(
        provider=SimpleNamespace(init_blocks=2), set_bad_state_and_fail_all=seen.append
    )
    failing_jobs("slurm", tmp_path)(executor, dict(enumerate(jobs)))
    assert bool(seen) is bool(said)
    if seen:
        text = str(seen[0])
        assert text.startswith("jobs of provider slurm end before a worker starts: ") and said in text
        assert str(tmp_path) in text and "\n" not in text
