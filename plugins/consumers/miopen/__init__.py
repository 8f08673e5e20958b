"""MIOpen: find-dbs, performance databases, log lines."""
