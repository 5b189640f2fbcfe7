"""What people type into the report pages, checked before a service sees it: a file per noun."""
