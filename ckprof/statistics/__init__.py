"""Statistics of measurements that were taken in rounds: intervals, noise, verdicts."""
