"""Settings from flags, environment and ``ckprof.toml``."""
