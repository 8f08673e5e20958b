"""Options that commands of the package describe in words of their own, see tests/cli/test_option_names.py."""

#: option -> command -> why
OWN_WORDS = {
    "--arch": {
        **dict.fromkeys(("audit", "export"), "the device that uses results"),
        "import": "what a file lacks",
    },
    "--conf": {
        **dict.fromkeys(("audit", "identify", "export"), "where kernels are looked up, folders too"),
    },
    "--dtype": {
        "export": "as results",
        "import": "what a file lacks",
    },
    "--new": {
        "upgrade": "one of two sides",
    },
    "--fail-on": {
        "audit": "reasons of findings",
    },
    "--format": {
        **dict.fromkeys(("audit", "upgrade"), "formats for CI, and no table"),
    },
    "--layout": {
        "import": "as results",
    },
    "--output": {
        "export": "a folder",
        **dict.fromkeys(("audit", "upgrade"), "several files in several formats"),
    },
    "--store": {
        "import": "what imports are added to",
    },
    "--tag": {
        "import": "as results",
    },
    "--target": {
        "import": "what a file lacks",
    },
    "--tree": {
        **dict.fromkeys(("audit", "export"), "an installation of the program that owns a file"),
    },
}
