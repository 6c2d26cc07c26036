"""Spark's side of a batch: the stages in which tasks do their rounds."""
