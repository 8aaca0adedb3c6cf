"""Pure functions on a history: messages in, messages out, the same when done twice."""
