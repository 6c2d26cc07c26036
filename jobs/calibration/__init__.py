"""What a batch costs on this machine: measured with the executor's own operators."""
