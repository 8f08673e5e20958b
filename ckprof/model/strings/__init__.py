"""The texts by which Composable Kernel names its instances: fields, spellings, revisions, one grammar."""
