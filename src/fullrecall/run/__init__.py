"""Running scorers over samples: retrievers and models are asked within limits, each once."""
