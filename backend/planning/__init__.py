"""Plans of topologies, what a draft would add to them, and planning again from what a job measured."""
