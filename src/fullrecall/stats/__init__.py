"""Statistics of reports: bounds, summaries, comparisons, gates, slices, and the best retriever."""
