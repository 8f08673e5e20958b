"""Child processes that can be interrupted wherever the tests themselves run."""

import signal


def heed_interrupts():
    """Undo what shells do to commands in the background, among which these tests may be.

    For ``preexec_fn``: such commands are born with SIGINT ignored, and so would be their children.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


def heed_signals():
    """Undo the same for SIGTERM, and for SIGHUP, which nohup has commands ignore."""
    heed_interrupts()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
