"""Changes of the plan while a topology runs."""
