"""From lists to kernel libraries: which instances, their rules, sources and builds."""
