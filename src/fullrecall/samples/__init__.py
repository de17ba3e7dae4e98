"""Samples: a question with its references and its retrieved contexts."""
