"""The paper from tables: its numbers, texts, figures and LaTeX tables, and typesetting."""
