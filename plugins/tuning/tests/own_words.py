"""Options that commands of the package describe in words of their own, see tests/cli/test_option_names.py."""

#: option -> command -> why
OWN_WORDS = {
    "--direction": {
        "train": "a table does not say it",
    },
    "--dtype": {
        "train": "a table does not say it",
    },
    "--force": {"generate": "types are not asked about"},
    "--layout": {
        "train": "only recorded",
    },
    "--model": {
        "generate": "says what becomes of the generated selection",
        "tune": "where the search begins",
    },
    "--output": {
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
}
