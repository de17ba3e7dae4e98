"""Two reports of which one at least is not in memory, sample by sample."""
