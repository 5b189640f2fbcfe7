"""What pages of several nouns use."""

PLAIN = {"autocomplete": "off", "spellcheck": "false"}
