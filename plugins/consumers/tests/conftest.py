"""What these tests need of other packages."""

import importlib.util

#: the package does not work without it
collect_ignore_glob = [] if importlib.util.find_spec("ckprof_plugins.extract") else ["*"]
