"""What topologies did, for months back, in minutes, ten minutes and hours."""
