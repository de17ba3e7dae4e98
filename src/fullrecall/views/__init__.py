"""All that shows results: sheets on terminals, in Markdown, and in HTML; pages, plots, exports."""
