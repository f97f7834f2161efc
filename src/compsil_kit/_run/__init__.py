"""Run a selection: planning, loading, workers, progress, checkpoints, fingerprints and batches."""
