"""IDs that are written differently in the references and in the retrieved contexts."""
