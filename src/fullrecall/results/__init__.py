"""What results show: bounds of a mean, a change, a choice among retrievers, a gate's outcome."""
