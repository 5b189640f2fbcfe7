"""SQLite for a small lab: writers wait in a queue instead of backing off blindly."""
