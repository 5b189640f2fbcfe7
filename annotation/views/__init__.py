"""One view per page; a file per kind of page."""
