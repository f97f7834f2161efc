"""How a selection runs: planning, loading, workers, progress, checkpoints, fingerprints and batches."""
