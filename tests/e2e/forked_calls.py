"""Calls of ckprof in forks of a process that has imported its modules, which takes longer than most commands.

What is called is a process with an environment, a folder and files of its own, as if a shell had started it
and its modules were imported already.
"""

import gc
import json
import os
import pkgutil
import runpy
import select
import signal
import subprocess
import sys
from contextlib import suppress
from importlib import import_module

_PACKAGES = ("ckprof", "ckprof_plugins", "ckprof_converters")


class ForkedCalls:
    """A process that forks for each call.

    :param folder: for files of its own.
    """

    def __init__(self, folder):
        self._outputs = folder / "output", folder / "error"
        self._started_with = _variables_of_python(os.environ)
        self._process = _start()

    def serves(self, environment):
        """Whether an interpreter would start with this environment as the one that is forked has started."""
        return _variables_of_python(environment) == self._started_with

    def call(self, arguments, folder, environment, timeout):
        """Return exit code, output and errors of ``ckprof`` with these arguments.

        :param timeout: seconds.
        :returns: the code of a call that a signal has ended is its negative number.
        :raises subprocess.TimeoutExpired: it took longer, and was killed.
        """
        assert self._process.stdin and self._process.stdout
        asked = {
            "arguments": arguments,
            "folder": str(folder),
            "environment": dict(environment),
            "outputs": [str(path) for path in self._outputs],
        }
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        child = int(self._process.stdout.readline())
        try:
            answered, _, _ = select.select([self._process.stdout], [], [], timeout)
            if not answered:
                raise subprocess.TimeoutExpired(list(arguments), timeout)
            code = int(self._process.stdout.readline())
        except BaseException:
            # its answer, which is still to come, would be taken for that of the next call
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            self.end()
            self._process = _start()
            raise
        output, errors = (path.read_text(errors="replace") for path in self._outputs)
        return code, output, errors

    def end(self):
        """End the process."""
        self._process.communicate()


def _start():
    # unbuffered: whether it has answered is asked of the pipe
    return subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )


def _variables_of_python(environment):
    return {name: value for name, value in environment.items() if name.startswith(("PYTHON", "LC_", "LANG"))}


def _import_all():
    for package in map(import_module, _PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.endswith(".__main__"):
                continue  # what a call begins with
            # what users have not installed either is imported by those who need it
            with suppress(Exception):
                import_module(module.name)


def _become(call):
    """Take over environment, folder, files and arguments of a call."""
    os.environ.clear()
    os.environ.update(call["environment"])
    os.chdir(call["folder"])
    files = [(os.devnull, os.O_RDONLY)]
    files += [(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for path in call["outputs"]]
    for descriptor, (path, flags) in enumerate(files):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.argv = ["ckprof", *call["arguments"]]


def _serve():
    """Answer each line with the number of a process, and with its exit code when it has ended."""
    _import_all()
    gc.collect()
    gc.freeze()
    for line in sys.stdin.buffer:
        child = os.fork()
        if not child:
            _become(json.loads(line))
            runpy.run_module("ckprof", run_name="__main__", alter_sys=True)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _serve()
