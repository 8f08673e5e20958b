"""Options that the command describes in words of its own, see tests/cli/test_option_names.py."""

from __future__ import annotations

#: option -> command -> why
OWN_WORDS = {
    "--format": {"hunt": "formats of its own, of which one is for bug reports"},
    "--output": {"hunt": "several files in several formats"},
}
