"""From the configuration to cases, places and jobs, and how far a run is."""
