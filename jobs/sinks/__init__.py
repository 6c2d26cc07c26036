"""Where results go: Parquet files, the newest to Redis for pages that watch, all to topics if wanted."""
