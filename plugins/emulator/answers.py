"""Keeps what the emulated device answered: of unchanged machine code it is the same to the bit.

One file per answer, written as soon as there is one, so that a run that is killed loses none.
"""

from __future__ import annotations

import os
import time
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.files import read_own, write_atomically
from ckprof.kernels.keys import abi_version, digest_parts
from ckprof.paths import cache_dir
from ckprof_plugins.emulator.child import Answer

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof_plugins.emulator.child import Question

#: seconds after which an answer that nobody used is removed
_KEPT_S: Final = 30 * 24 * 3600.0


class AnswerCache:
    """Answers by the digest of everything that they depend on.

    :param model: digest of the time model, see :func:`ckprof_plugins.emulator.model_digest.model_digest`.
    :param arch: with features.
    :param profile: answers with profiles, which are larger.
    """

    def __init__(self, model: str, arch: str, *, profile: bool) -> None:
        self._root = cache_dir() / "predictions"
        self._base = digest_parts(model, arch, f"profile {profile}", f"abi {abi_version()}")
        self._remove_unused()

    def path(self, question: Question, machine_code: str) -> Path:
        """Return where an answer lies, whether it exists or not.

        :param machine_code: digest of the kernel's object.
        """
        key = digest_parts(self._base, machine_code, msgspec.json.encode(question))
        return self._root / key[:2] / key

    def find(self, question: Question, machine_code: str) -> Answer | None:
        """Return an answer that is known; a file that is damaged counts as none."""
        path = self.path(question, machine_code)
        try:
            answer = msgspec.json.decode(zlib.decompress(read_own(path)), type=Answer)
            os.utime(path)
        except (OSError, zlib.error, msgspec.MsgspecError):
            return None
        return answer

    def keep(self, question: Question, machine_code: str, answer: Answer) -> None:
        """Keep an answer; not a failure, which may be the machine's."""
        if answer.reason and not answer.unsupported:
            return
        with suppress(OSError):  # only costs time
            content = zlib.compress(msgspec.json.encode(answer), 1)
            write_atomically(self.path(question, machine_code), content)

    def _remove_unused(self) -> None:
        with suppress(OSError):
            before = time.time() - _KEPT_S
            for path in self._root.glob("*/*"):
                if path.stat().st_mtime < before:
                    path.unlink(missing_ok=True)
