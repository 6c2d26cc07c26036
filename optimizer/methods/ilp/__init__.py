"""The joint optimum by integer programming (dissertation section 7.1)."""
