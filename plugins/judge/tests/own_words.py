"""Options that the command describes in words of its own, see tests/cli/test_option_names.py."""

from __future__ import annotations

#: option -> command -> why
OWN_WORDS = {
    "--budget": {"judge": "references, operands and timing have limits of their own"},
    "--format": {"judge": "formats of its own"},
    "--output": {"judge": "several files in several formats"},
    "--dtype": {"judge": "that of a candidate's operands, where there is no list"},
    "--layout": {"judge": "a candidate has one, which is its operands' and not that of lines"},
    "--timeout": {"judge": "that of a launch; a kernel of ckprof's has one for all of its runs"},
    "--device": {"judge": "libraries of kernels alone are on a device"},
    "--store": {"judge": "is read alone"},
    "--threads": {"judge": "asked of a candidate, which may not follow"},
    "--new": {"judge": "writes a candidate, not a plugin"},
    "--fail-on": {"judge": "verdicts of its own"},
}
