"""Saved reports: JSON Lines for people and diffs, Parquet for size; one schema behind both."""
