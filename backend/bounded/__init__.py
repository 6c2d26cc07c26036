"""What people ask for and may be hard, in processes of its own: bounded, in turn, ended with its request."""
