"""The one exception of the rules: a sentence a person can act on."""


class ProtocolError(Exception):
    """A rule of the protocol forbids what was asked; `message` says which and what to do instead."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
