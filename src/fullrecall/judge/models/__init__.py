"""The models that a judge asks, and the clients of two providers."""

from fullrecall.judge.models.chat import ChatModel, ChatRequest, Completion, Failure, Message

__all__ = ["ChatModel", "ChatRequest", "Completion", "Failure", "Message"]
