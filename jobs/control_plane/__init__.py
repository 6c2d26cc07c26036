"""Messages between a topology and the web application."""
