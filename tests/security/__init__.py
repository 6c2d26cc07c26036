"""What the product refuses, and what it shows to whom."""
