"""Values of messages and files as columns of the declared types."""
