"""Settings, addresses and processes."""
