"""Running: what asks models and retrievers, within limits, and pays for nothing twice."""
