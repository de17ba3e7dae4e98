"""fullrecall for LangChain."""
