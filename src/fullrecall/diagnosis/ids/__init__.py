"""IDs that references and retrieved contexts spell differently."""
