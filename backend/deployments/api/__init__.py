"""The REST API of `deployments`: queries and topologies, with all that is known of them."""
