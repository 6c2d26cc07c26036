"""Where results go: Parquet files, and the newest ones to a Redis Stream for pages that watch."""
