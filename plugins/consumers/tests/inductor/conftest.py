"""What these tests need of other packages."""

import importlib.util

#: kernels are ranked by its time models
_RANKED = ["test_inductor_figures.py", "test_provider.py", "test_with_torch.py"]
collect_ignore = [] if importlib.util.find_spec("ckprof_plugins.tuning") else _RANKED
