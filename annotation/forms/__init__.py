"""What people type into pages, checked before a service sees it: a file per noun."""
