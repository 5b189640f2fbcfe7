"""Speed, measured as ratios within one run: figures stand in RESULTS.md. No test depends on them."""
