"""What the tests need of another package."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("ckprof_plugins.extract") else ["*"]
