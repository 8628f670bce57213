"""Results as a table, JSON, JSON lines, CSV and Markdown."""
