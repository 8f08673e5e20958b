"""``ckprof time-guard``: measures a list into a store, and fails if its best kernel has become slower."""
