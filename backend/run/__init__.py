"""Start, watch and stop every process of the product on one machine."""
