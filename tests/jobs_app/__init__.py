"""An app with one kind of job, for tests with a real worker: plugged in as any other app would be."""
