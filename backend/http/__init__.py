"""HTTP beneath the pages and the API: proxies, bodies, URL parts, errors."""
