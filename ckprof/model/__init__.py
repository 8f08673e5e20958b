"""Plain data: problems, types, layouts, instances, outcomes. No I/O happens here."""
