"""Running scorers over samples."""
