"""From the configuration to cases, targets and jobs, and the status of a run."""
