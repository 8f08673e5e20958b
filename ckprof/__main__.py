"""``python -m ckprof``."""

from __future__ import annotations

import sys

from ckprof.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
