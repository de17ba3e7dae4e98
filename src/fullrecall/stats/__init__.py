"""Statistics of a table: bounds, summaries, comparisons, gates, choices, slices."""
