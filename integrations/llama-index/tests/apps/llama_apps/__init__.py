"""Typical applications of LlamaIndex, each with its right recall, stated by hand."""
