"""The report of a store: one HTML page, Markdown for pull requests, or an image."""
