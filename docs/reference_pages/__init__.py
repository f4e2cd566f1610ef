"""What the pages of `docs/` show in addition to their Markdown: tables made from the code, contents, linked files."""
