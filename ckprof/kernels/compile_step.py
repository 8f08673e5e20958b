"""Runs one compiler process for ninja: time limit, log, cost, and the product renamed into place.

Started as ``python -I -S compile_step.py SPEC`` for every object, so it imports next to nothing. SPEC is a
text file with one ``name=value`` per line, as :class:`ckprof.kernels.step.Step` writes it:

``arg``       a word of the command; repeated
``cwd``       where the command runs
``timeout``   seconds of work: of the clock, less the time in which the compiler waited for a CPU
``log``       takes the command line and all that the compiler prints
``record``    JSON with status and cost, written last; with ``.failed`` appended if the step failed
``output``    what the command writes
``entry``     the folder of ``output`` becomes this one; ``stamp`` names the JSON record of its content in it;
              what the compiler has printed is kept in it as well
``final``     or: ``output`` becomes this file, and ``stamp`` is the path of the JSON record of its content
``optional``  a failure is noted in the record but does not fail the step
"""

from __future__ import annotations

# the public module builds its enums on every start, which takes as long as all the rest
import _signal as signals  # type: ignore[import-not-found]
import os
import sys
import time

OK, ERROR, TIMEOUT, KILLED, STORAGE = "ok", "error", "timeout", "killed", "storage"

_STOPPING = (signals.SIGINT, signals.SIGTERM, signals.SIGHUP)
#: in an entry of the cache: what the compiler said of a product that it has made
MESSAGES_FILE = "messages.txt"

_NO_SPACE = b"No space left on device"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
#: seconds between looks at whether the process that has started this one is still there
_LOOK_S = 1.0


def read_spec(path: str) -> tuple[dict[str, str], list[str]]:
    """Return the named values and the command of a SPEC file."""
    values: dict[str, str] = {}
    command: list[str] = []
    with open(path, encoding="utf-8") as stream:  # noqa: PTH123 - pathlib doubles the start-up time
        for line in stream.read().split("\n"):
            name, _, value = line.partition("=")
            if name == "arg":
                command.append(value)
            elif name:
                values[name] = value
    return values, command


class _Compiler:
    """The compiler process and everything that it starts."""

    def __init__(self, timeout_s: float) -> None:
        self.timed_out = False
        self._pid = 0
        self._timeout_s = timeout_s
        self._parent = os.getppid()
        self._worked_s = 0.0
        self._looked_at = 0.0
        self._cpu_s = 0.0

    def run(self, command: list[str], cwd: str, log: str) -> tuple[int, float, float, int]:
        """Return wait status, wall seconds, CPU seconds and peak memory of the largest process."""
        _limit_cpu(self._timeout_s)
        os.chdir(cwd)
        # nothing may interrupt between the start of the compiler and the moment its number is known
        signals.pthread_sigmask(signals.SIG_SETMASK, {*_STOPPING, signals.SIGALRM})
        for number in _STOPPING:
            signals.signal(number, self._stop)
        signals.signal(signals.SIGALRM, self._look)
        started = time.monotonic()
        self._pid = os.posix_spawnp(
            command[0],
            command,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            # a group of its own, so that a driver's children die with it
            setpgroup=0,
            setsigmask=[],
            setsigdef=[signals.SIGPIPE, signals.SIGXFSZ],
        )
        self._looked_at = started
        signals.setitimer(signals.ITIMER_REAL, min(self._timeout_s, _LOOK_S), _LOOK_S)
        signals.pthread_sigmask(signals.SIG_SETMASK, set())
        _, status, usage = os.wait4(self._pid, 0)
        signals.setitimer(signals.ITIMER_REAL, 0)
        wall = time.monotonic() - started
        peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return status, wall, usage.ru_utime + usage.ru_stime, peak

    def _kill(self) -> None:
        try:
            os.killpg(self._pid, signals.SIGKILL)
        except OSError:
            pass

    def _look(self, *_: object) -> None:
        """End the compiler when its time is over, or when nobody waits for it any more."""
        if os.getppid() != self._parent:
            self._stop(signals.SIGTERM, None)
        left = self._timeout_s - self._work()
        if left <= 0:
            self.timed_out = True
            self._kill()
        else:
            signals.setitimer(signals.ITIMER_REAL, min(left, _LOOK_S), _LOOK_S)

    def _work(self) -> float:
        """Return the seconds that count so far, up to now.

        Where the compiler runs or could run, it is charged for the CPU time that it got, so that other work
        of the machine costs it nothing; where it sleeps, for the time that went by.
        """
        now = time.monotonic()
        cpu, runnable = tree_usage(self._pid)
        elapsed = now - self._looked_at
        self._worked_s += min(elapsed, max(0.0, cpu - self._cpu_s)) if runnable else elapsed
        self._looked_at, self._cpu_s = now, cpu
        return self._worked_s

    def _stop(self, number: int, _: object) -> None:
        self._kill()
        os._exit(128 + number)


def tree_usage(pid: int) -> tuple[float, bool]:
    """Return the CPU seconds of a process and all that it has started, and whether one of them runs or could.

    Where the system does not tell, none does.

    :param pid: its number.
    """
    ticks, runnable, waiting = 0, False, [pid]
    while waiting:
        folder = f"/proc/{waiting.pop()}"
        try:
            # its own and those of children that it has waited for
            ticks += sum(map(int, _stat(folder)[11:15]))
            for thread in os.listdir(folder + "/task"):  # noqa: PTH208
                runnable = runnable or _stat(f"{folder}/task/{thread}")[0] == b"R"
                with open(f"{folder}/task/{thread}/children", "rb") as stream:  # noqa: PTH123
                    waiting += map(int, stream.read().split())
        except (OSError, ValueError, IndexError):
            continue  # it has just ended
    return ticks / _TICKS_PER_S, runnable


def _stat(folder: str) -> list[bytes]:
    """Return what the system says of a process or thread, from its state on."""
    with open(folder + "/stat", "rb") as stream:  # noqa: PTH123
        return stream.read().rpartition(b")")[2].split()


def _limit_cpu(timeout_s: float) -> None:
    """Let a compiler that outlives this process end by itself one day."""
    try:
        from resource import RLIMIT_CPU, getrlimit, setrlimit

        seconds = int(time.process_time() + timeout_s * 4) + 60
        soft, hard = getrlimit(RLIMIT_CPU)
        if soft < 0 or soft > seconds:
            setrlimit(RLIMIT_CPU, (seconds, hard))
    except (ImportError, OSError, ValueError):
        pass


def _write(path: str, text: str) -> None:
    partial = f"{path}.{os.getpid()}"
    with open(partial, "w", encoding="utf-8") as stream:  # noqa: PTH123
        stream.write(text)
    os.replace(partial, path)  # noqa: PTH105


def _stamp_text(path: str, key: str = "") -> str:
    from hashlib import blake2b

    state = blake2b(digest_size=20)
    size = 0
    with open(path, "rb") as stream:  # noqa: PTH123
        while block := stream.read(1 << 20):
            state.update(block)
            size += len(block)
    own_key = f', "key": "{key}"' if key else ""
    return f'{{"size": {size}, "digest": "{state.hexdigest()}"{own_key}}}'


def _publish(values: dict[str, str]) -> None:
    """Rename what was compiled to where it belongs."""
    output = values["output"]
    # an entry of the cache holds its key
    stamp = _stamp_text(output, os.path.basename(values.get("entry", "")))  # noqa: PTH119
    if "entry" in values:
        folder = os.path.dirname(output)  # noqa: PTH120
        messages = _messages(values["log"])
        if messages:
            _write(folder + "/" + MESSAGES_FILE, messages)
        _write(folder + "/" + values["stamp"], stamp)
        os.makedirs(os.path.dirname(values["entry"]), exist_ok=True)  # noqa: PTH103, PTH120
        try:
            os.rename(folder, values["entry"])  # noqa: PTH104
        except OSError:
            # another process stored the same content first
            if not os.path.isfile(values["entry"] + "/" + values["stamp"]):  # noqa: PTH113
                raise
        return
    # content first: a stamp that does not match is noticed, a missing one too
    os.replace(output, values["final"])  # noqa: PTH105
    if "stamp" in values:
        _write(values["stamp"], stamp)


def _messages(log: str) -> str:
    """Return what the compiler has said, after the two lines that name it; at most the last 64 KiB."""
    text = _tail(log).decode("utf-8", "replace")
    lines = text.split("\n")
    if lines[0].startswith("$ "):
        lines = lines[2:]
    return "\n".join(lines) if any(line.strip() for line in lines) else ""


def _tail(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:  # noqa: PTH123
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - 65536))
            return stream.read()
    except OSError:
        return b""


def main(spec: str) -> int:
    """Run one step and return the exit status for ninja.

    :param spec: path of the SPEC file.
    """
    values, command = read_spec(spec)
    log = values["log"]
    compiler = _Compiler(float(values["timeout"]))
    status, wall, cpu, peak = 0, 0.0, 0.0, 0
    try:
        with open(log, "w", encoding="utf-8") as stream:  # noqa: PTH123
            stream.write("$ " + " ".join(command) + "\n# in " + values["cwd"] + "\n")
        status, wall, cpu, peak = compiler.run(command, values["cwd"], log)
        code = os.waitstatus_to_exitcode(status)
        if compiler.timed_out:
            state = TIMEOUT
        elif code < 0:
            state = KILLED
        elif code != 0:
            state = STORAGE if _NO_SPACE in _tail(log) else ERROR
        else:
            state = OK
            _publish(values)
    except OSError as exc:
        code, state = exc.errno or 1, STORAGE
        try:
            with open(log, "a", encoding="utf-8") as stream:  # noqa: PTH123
                stream.write(f"{exc}\n")
        except OSError:
            pass
    record = (
        f'{{"status": "{state}", "code": {code}, "wall_s": {wall:.4f}, "cpu_s": {cpu:.4f}, '
        f'"peak_memory_bytes": {peak}}}'
    )
    passes = state == OK or "optional" in values
    try:
        _write(values["record"] + ("" if passes else ".failed"), record)
    except OSError as exc:
        sys.stdout.write(f"{exc}\n")
        return 1
    return 0 if passes else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
