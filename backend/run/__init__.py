"""`make run`: starts, watches and stops every process of the product on one machine."""
