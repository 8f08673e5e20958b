"""Options that commands of the package describe in words of their own, see tests/cli/test_option_names.py."""

#: option -> command -> why
OWN_WORDS = {
    "--fail-on": {"migrate": "losses"},
    "--format": {"migrate": "formats of its own"},
    "--output": {"migrate": "several files in several formats"},
}
