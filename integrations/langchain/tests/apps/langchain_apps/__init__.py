"""Small LangChain and LangGraph applications, and the doors through which each is scored."""
