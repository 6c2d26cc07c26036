"""Layouts of stores that no single column decides: time slices and join matrices."""
