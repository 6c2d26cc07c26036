"""Results to a URL, in signed requests: some of a batch in each, or one."""
