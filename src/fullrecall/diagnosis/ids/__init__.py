"""Everything about IDs that are written differently in the references and in what was retrieved."""
