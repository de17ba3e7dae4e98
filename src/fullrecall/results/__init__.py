"""What results add up to: totals of a measure, bounds, comparison, gate, choice."""
