"""The REST API of deployments: queries, topologies, all known of them."""
