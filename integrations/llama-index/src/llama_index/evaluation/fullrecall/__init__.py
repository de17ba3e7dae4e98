"""fullrecall for LlamaIndex."""
