"""What Prometheus and the logs see of the product."""
