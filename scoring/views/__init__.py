"""The report pages, and asking for figures to be worked out anew."""
