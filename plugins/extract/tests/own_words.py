"""Options that commands of the package describe in words of their own, see tests/cli/test_option_names.py."""

#: option -> command -> why
OWN_WORDS = {
    "--arch": {
        "extract": "what factories are told, one of few or any",
    },
    "--check": {
        "extract": "compares with a folder",
    },
    "--dtype": {
        "extract": "which lists",
    },
    "--json": {
        "extract": "the account of what -o has as lists",
    },
    "--layout": {
        "extract": "which lists",
    },
    "--output": {
        "extract": "a file is what the command is for: which one, and what is written by default",
    },
    "--set": {
        "extract": "the sets that the library has lists of",
    },
}
