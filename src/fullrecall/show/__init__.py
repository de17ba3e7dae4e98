"""Show sheets on terminals, in Markdown, HTML, notebooks and plots."""
