"""PostgreSQL as Django has it, less what costs the hot path a way to the server."""
