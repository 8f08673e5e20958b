"""``ckprof migrate``: what cannot be compared."""

import pytest

from ckprof_plugins.old_ck import cmd_migrate
from ckprof_plugins.old_ck.pairs import Loss, Migration

LIST = ("migrate", "fwd", "--conf", "forward/tests/nhwgc_fp16", "--instance", "0")


@pytest.fixture
def compared(monkeypatch):
    """What the command hands to the comparison, which finds nothing."""
    given = []

    def found(session, lines, options):
        given.append((lines, options))
        return Migration(
            pairs=(),
            direction="fwd",
            target="hip",
            arch="gfx942",
            times="",
            random=options.random,
            fail_on=options.fail_on,
            notes=(),
        )

    monkeypatch.setattr(cmd_migrate, "migrate", found)
    return given


def test_options_say_what_is_compared(ckprof, compared):
    problem = "conv -n 1 -c 64 -H 14 -W 14 -k 64 -y 1 -x 1 -F 1"
    ckprof(
        *LIST,
        "--problem",
        problem,
        "--random",
        "7",
        "--device",
        "emulated",
        "--fail-on",
        "slower=5%",
        "--no-run",
    ).ok()
    ((lines, options),) = compared
    ((old, new),) = lines.values()
    assert (old.pipeline.library, new.pipeline.library) == ("old-ck", "ck-tile")
    assert old.source == new.source == next(iter(lines))
    assert (options.random, len(options.problems), options.run.device) == (7, 1, "emulated")
    assert not options.runs
    assert options.fail_on == {Loss.SLOWER: 0.05}


def test_wrong_usage(ckprof):
    for arguments, code, message in (
        (("migrate", "fwd", "--rule-set", "tiny"), 2, "name a list with --conf"),
        ((*LIST, "--family", "ck-tile"), 2, "--family: both families of a line are compared"),
        ((*LIST, "--target", "cpu"), 2, "kernels of the old library are for AMD GPUs"),
        (("migrate", "bwd_data", *LIST[2:]), 3, "expected bwd_data"),
    ):
        ckprof(*arguments).fails_with(code, message)
