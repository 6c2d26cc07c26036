"""Shapes of join matrices that follow what their stores receive."""
