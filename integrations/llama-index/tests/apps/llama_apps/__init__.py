"""Applications of LlamaIndex as people build them, each with its right recall, stated by hand."""
