"""What fails as a machine does that lacks something."""

import os


def failing_with(number):
    """Return a function that raises the system's error of a number, whatever it is called with."""

    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    return fail
