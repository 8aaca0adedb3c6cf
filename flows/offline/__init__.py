"""A model without a language model: rules read a request, pick a tool, and show what the tool truly found."""

from .model import OfflineModel, offline_model

__all__ = ["OfflineModel", "offline_model"]
