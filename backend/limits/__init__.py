"""Limits on what one query may cost, and suspension of what exceeds them.

The cost is estimated before deployment, and observed after.
"""
