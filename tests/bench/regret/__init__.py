"""regret: the default plan's processor time over that of the best plan that anybody finds."""
