"""Options that commands of the package describe in words of their own, see tests/cli/test_option_names.py."""

#: option -> command -> why
OWN_WORDS = {
    "--format": {
        "report": "formats of plugins, listed",
    },
    "--output": {
        "report": "a file is what the command is for: which one, and what is written by default",
    },
}
