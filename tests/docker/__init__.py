"""The deployment, checked without a container engine and run natively where that is possible."""
