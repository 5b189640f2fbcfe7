"""Downstream figures: what a submission's answers amount to, a benchmark's board, accuracies over several benchmarks.

A submission is scored once: each question's counts and similarities are kept, and every table is made of these. Boards
are worked out by a job (or the command, in the foreground) and kept with a digest of the submissions they rest on.
"""
