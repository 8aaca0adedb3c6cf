"""What is configured, in this order: built-in values, the user's file, the environment, flags.

A project may tighten what runs unasked: `turngraph.toml` in the working directory and at the root of its git
repository can hold the policy and the limits back, whatever the user's file and the environment say. It can loosen
nothing, and it cannot choose the model, the server or the store: whoever wrote a repository does not decide where a
person's text is sent. A flag is the person speaking now and wins over everything.
"""

from .layers import Layer, Origin
from .resolve import Resolved, Setting, load_settings, resolve_settings
from .values import Settings, config_path, default_store

__all__ = [
    "Layer",
    "Origin",
    "Resolved",
    "Setting",
    "Settings",
    "config_path",
    "default_store",
    "load_settings",
    "resolve_settings",
]
