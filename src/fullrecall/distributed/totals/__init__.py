"""Totals of parts that know their rows: none is counted twice, or lost unseen."""
