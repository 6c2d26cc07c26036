"""A topology that an earlier release left goes on under this one."""
