"""What every method builds on: partial plans, copies of stores, assembly and checks."""
