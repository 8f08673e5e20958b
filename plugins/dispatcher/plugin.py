"""What the package adds: ``ckprof generate --form dispatcher``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl
from ckprof.errors import UsageError
from ckprof.sanitize import unknown_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from ckprof.kernels.build_dir import BuildDir
    from ckprof.kernels.candidates import Candidate
    from ckprof.plugin.protocols import SourceAddition
    from ckprof.session import Session

FORMS = ("dispatcher",)


@hookimpl
def ckprof_add_arguments(command: str, parser: argparse.ArgumentParser) -> None:
    """Let ``ckprof generate`` write a further form."""
    if command == "generate":
        parser.add_argument_group("further forms").add_argument(
            "--form",
            choices=FORMS,
            help="dispatcher: write as well, into the folder 'dispatcher', what CK's own dispatcher builds: "
            "wrappers that fill its keys, and registration in chunks",
        )


@hookimpl
def ckprof_add_sources(
    arguments: Mapping[str, object],
    session: Session,
    build_dir: BuildDir,
    candidates: Sequence[Candidate],
) -> SourceAddition | None:
    """Return the files of the form, if it is asked for."""
    form = arguments.get("form")
    if form is None:
        return None
    if form not in FORMS:
        raise UsageError(unknown_name("form", str(form), FORMS))
    from ckprof_plugins.dispatcher.form import dispatcher_sources

    return dispatcher_sources(session, build_dir, candidates)
