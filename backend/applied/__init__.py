"""What was last applied from a directory, and how what runs has drifted from it."""
