"""Small LangChain and LangGraph applications, and the entry points through which each is scored."""
