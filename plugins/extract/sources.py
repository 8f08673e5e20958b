"""Reads the source files of a source tree: which tuples each function adds, with which parameters."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.extract.join import Use
from ckprof_plugins.extract.preprocess import preprocess
from ckprof_plugins.extract.tokens import ExprReader, TokenStream

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ckprof_plugins.extract.tuples import InstanceTuples

#: where they are, from the folder above an include root on
_FOLDER: Final = "src/tensor_operation_instance/gpu"
#: generated files keep their name but for the ending
_ENDINGS: Final = (".cpp", ".in")
_FUNCTION: Final = re.compile(r"\b(add_device_grouped_conv\w*?_instances)(?:_shard)?\b")


class SourceFiles:
    """The source files of a tree.

    :param roots: include roots; the files are beside one of them.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self._folders = [root.parent / _FOLDER for root in roots if (root.parent / _FOLDER).is_dir()]

    @cached_property
    def _files(self) -> Mapping[str, Path]:
        """Function -> file that defines it."""
        found: dict[str, Path] = {}
        for folder in self._folders:
            for path in sorted(folder.glob("grouped_conv*/**/*")):
                if path.suffix in _ENDINGS:
                    for name in _FUNCTION.findall(path.read_text(errors="replace")):
                        found.setdefault(name, path)
        return found

    def uses(
        self, function: str, tuples: InstanceTuples, macros: Mapping[str, str]
    ) -> tuple[Use, ...] | None:
        """Return the tuples that a function adds, in order; ``None`` if no file defines it.

        :raises InputError: what the file says cannot be read.
        """
        path = self._files.get(function)
        if path is None:
            return None
        text, _ = preprocess(path.read_text(errors="replace"), macros, str(path))
        stream = TokenStream(text, str(path))
        uses = []
        for index, piece in enumerate(stream.texts):
            if piece in tuples and stream.texts[index + 1 : index + 2] == ["<"]:
                pattern = tuples.pattern(piece)
                arguments = ExprReader(stream, index + 1).arguments()
                if len(arguments) > len(pattern.parameters):
                    raise InputError(f"{function}: {piece} takes fewer parameters", path)
                values = [tuples.print_in(piece, argument) for argument in arguments]
                uses.append(Use.of(pattern, dict(zip(pattern.parameters, values, strict=False))))
        if not uses:
            raise InputError(f"{function}: its source adds no tuple that the headers declare", path)
        return tuple(uses)
