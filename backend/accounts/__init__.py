"""Who may do what and have how much, and how often anybody may ask."""
