"""Read the files and frames of any tool as samples, documents and saved reports."""
