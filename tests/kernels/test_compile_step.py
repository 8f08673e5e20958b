import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from ckprof.kernels import compile_step
from ckprof.kernels.step import Step, StepFiles


@contextmanager
def undone():
    """Give this process back what a step makes its own: folder, signals, timer and limit."""
    folder, timer = Path.cwd(), signal.getitimer(signal.ITIMER_REAL)
    limit, mask = resource.getrlimit(resource.RLIMIT_CPU), signal.pthread_sigmask(signal.SIG_BLOCK, [])
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    handlers = [signal.getsignal(number) for number in numbers]
    try:
        yield
    finally:
        os.chdir(folder)
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        resource.setrlimit(resource.RLIMIT_CPU, limit)
        signal.setitimer(signal.ITIMER_REAL, *timer)


def run(tmp_path, *command, timeout_s=20, **options):
    files = StepFiles(tmp_path)
    values = {
        "output": tmp_path / "out",
        "final": tmp_path / "done",
        "stamp": str(tmp_path / "stamp"),
    }
    step = Step(id="a", name="a", command=command, cwd=tmp_path, **{**values, **options})
    files.write([step], timeout_s)
    with undone():
        return compile_step.main(str(files.spec("a"))), files


def python(code):
    # commands hold no line breaks
    return sys.executable, "-IS", "-c", f"exec({code!r})"


def test_publishes_the_product_with_its_digest_and_cost(tmp_path):
    code, files = run(tmp_path, *python("import time; time.sleep(0.1); open('out', 'w').write('x' * 10)"))
    assert code == 0
    assert (tmp_path / "done").read_text() == "x" * 10 and not (tmp_path / "out").exists()
    assert json.loads((tmp_path / "stamp").read_text())["size"] == 10
    result = files.result("a")
    assert result.ok and result.code == 0
    assert 0.1 <= result.wall_s < 5 and 0 < result.cpu_s < 5 and result.peak_memory_bytes > 2**20


def test_counts_the_cost_of_children(tmp_path):
    burn = "import time\nwhile time.process_time() < 0.2: b = bytearray(60 << 20)"
    driver = f"subprocess.run([sys.executable, '-IS', '-c', {burn!r}])"
    code, files = run(tmp_path, *python(f"import subprocess, sys; {driver}; open('out', 'w')"))
    assert code == 0
    assert files.result("a").cpu_s >= 0.2 and files.result("a").peak_memory_bytes > 60 << 20


BURN = "import os, time\nwhile time.process_time() < {seconds}: pass\n"


@pytest.fixture
def busy_cpu():
    """The number of a CPU for which four others compete."""
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        pytest.skip("the system does not tell what waits for a CPU")
    cpu = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, [{cpu}]); print(flush=True)\nwhile True: pass"
    with ExitStack() as stack:
        for _ in range(4):
            other = stack.enter_context(subprocess.Popen(python(code), stdout=subprocess.PIPE))
            stack.callback(other.kill)
            other.stdout.readline()
        yield cpu


def test_the_time_that_a_compiler_waits_for_a_cpu_does_not_count(tmp_path, busy_cpu):
    """Nor what the program waits for that a driver of compilers starts."""
    burn = f"import os; os.sched_setaffinity(0, [{busy_cpu}])\n{BURN.format(seconds=0.4)}open('out', 'w')"
    command = python(f"import subprocess; subprocess.run({python(burn)!r}, check=True)")
    # of five that share a CPU, each takes five times as long; what else is started here takes time as well
    code, files = run(tmp_path, *command, timeout_s=1.4)
    result = files.result("a")
    assert code == 0 and result.ok
    # by the clock it would have been ended
    assert result.wall_s > 1.4


@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(60)"], ids=["runs", "sleeps"])
def test_a_compiler_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path, code):
    command = python(f"import subprocess; subprocess.run({python(code)!r}, check=True)")
    started = time.monotonic()
    status, files = run(tmp_path, *command, timeout_s=0.5)
    assert status == 1 and files.result("a").status == compile_step.TIMEOUT
    assert time.monotonic() - started < 30


def test_the_usage_of_a_process_and_its_children():
    burn = python(BURN.format(seconds=0.3) + "print(flush=True); time.sleep(60)")
    driver = python(f"import subprocess; subprocess.run({burn!r})")
    with subprocess.Popen(driver, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        deadline = time.monotonic() + 5
        while (usage := compile_step.tree_usage(process.pid))[1] and time.monotonic() < deadline:
            time.sleep(0.01)
        psutil.Process(process.pid).children()[0].kill()
    assert usage[0] >= 0.25 and not usage[1]  # of whole ticks
    assert compile_step.tree_usage(process.pid) == (0, False)


def test_keeps_what_the_command_prints(tmp_path):
    code, files = run(
        tmp_path, *python("import sys; print('one'); print('two', file=sys.stderr); sys.exit(7)")
    )
    assert code == 1
    lines = files.log("a").read_text().splitlines()
    assert lines[0].startswith(f"$ {sys.executable}") and lines[1] == f"# in {tmp_path}"
    assert sorted(lines[2:]) == ["one", "two"]
    result = files.result("a")
    assert (result.status, result.code, result.ok) == (compile_step.ERROR, 7, False)
    assert not files.record("a").exists() and not (tmp_path / "done").exists()


def test_a_command_that_cannot_be_started(tmp_path):
    code, files = run(tmp_path, "/no/such/command")
    assert code == 1 and not files.result("a").ok
    assert "No such file" in files.log("a").read_text()


def test_a_success_without_a_product_is_a_failure(tmp_path):
    code, files = run(tmp_path, *python("pass"))
    assert code == 1 and not files.result("a").ok


def test_an_optional_step_may_fail(tmp_path):
    code, files = run(tmp_path, *python("raise SystemExit(1)"), optional=True)
    assert code == 0 and files.record("a").exists() and not files.result("a").ok


def test_reads_nothing_from_standard_input(tmp_path):
    code, _ = run(tmp_path, *python("import sys; open('out', 'w').write(sys.stdin.read())"))
    assert code == 0 and (tmp_path / "done").read_text() == ""


def test_an_entry_that_exists_already_is_kept(tmp_path):
    for text in ("first", "second"):
        folder = tmp_path / "staging" / "key"
        folder.mkdir(parents=True)
        output = folder / "object.o"
        code, files = run(
            tmp_path, *python(f"open({str(output)!r}, 'w').write({text!r})"),
            output=output, final=None, entry=tmp_path / "entries" / "key", stamp="entry.json",
        )  # fmt: skip
        assert code == 0 and files.result("a").ok
        assert (tmp_path / "entries" / "key" / "object.o").read_text() == "first"


def test_starts_at_once(tmp_path):
    """A step must cost next to nothing beside a compiler, whatever else the machine does meanwhile."""
    best = 1.0
    _, files = run(tmp_path, "true", optional=True)
    command = [sys.executable, "-I", "-S", compile_step.__file__, str(files.spec("a"))]
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    assert 0 < best < 0.1
    source = Path(compile_step.__file__).read_text().split("if __name__")[0]
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"{source}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"json", "subprocess", "enum", "re", "typing", "pathlib", "hashlib"} & set(loaded)


@pytest.mark.parametrize(
    ("code", "kept"),
    [("print('warning: loops'); print('more')", "warning: loops\nmore\n"), ("0", None), ("print()", None)],
)
def test_messages_are_kept_with_the_product(tmp_path, code, kept):
    """They must not be lost when the product comes from the cache."""
    folder, entry = tmp_path / "staged", tmp_path / "cache" / "entry"
    folder.mkdir()
    status, _ = run(
        tmp_path,
        *python(f"{code}; open('staged/out', 'w').write('x')"),
        output=folder / "out",
        final=None,
        entry=entry,
        stamp="entry.json",
    )
    assert status == 0 and (entry / "out").is_file()
    messages = entry / compile_step.MESSAGES_FILE
    assert (messages.read_text() if messages.exists() else None) == kept
