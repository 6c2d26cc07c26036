"""What a command says that cannot go on."""
