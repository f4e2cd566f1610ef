"""The paper from tables: what it says, figures, LaTeX, typesetting."""
