"""The data of chapters (lines, sources, claims), and the queries and functions of their text, tables and figures."""
