"""Options that commands of the package describe in words of their own, see tests/cli/test_option_names.py."""

#: option -> command -> why
OWN_WORDS = {
    "--diff": {"predict": "of times; inspect compares machine code"},
    "--direction": {
        "train": "a table does not say it",
    },
    "--dtype": {
        "train": "a table does not say it",
    },
    "--fail-on": {"predict": "changes of predictions, of --diff alone"},
    "--force": {"generate": "types are not asked about"},
    "--format": {"predict": "two results: of --diff there are formats for CI as well"},
    "--gpu": {"sweep": "belongs to --predict, which it names"},
    "--kernel": {"predict": "a line of the list; what is called is not built yet"},
    "--layout": {
        "train": "only recorded",
    },
    "--model": {
        "generate": "says what becomes of the generated selection",
        "tune": "where the search begins",
    },
    "--output": {
        "predict": "in several formats at once, of --diff",
        "train": "a file is what the command is for: which one, and what is written by default",
    },
    "--store": {
        "tune": "no shards; a search does not measure again what the store has",
    },
    "--target": {
        "train": "a table does not say it",
    },
    "--tie": {
        "tune": "also ends the search",
    },
    "--top": {
        "validate": "the best of how many predicted ones",
    },
    "--write": {"predict": "a baseline, whatever the comparison says"},
}
