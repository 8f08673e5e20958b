"""The report of a store: one HTML page, or Markdown for pull requests."""
