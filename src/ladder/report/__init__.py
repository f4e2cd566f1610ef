"""From records to tables, figures and the paper."""
