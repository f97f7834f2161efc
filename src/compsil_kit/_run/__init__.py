"""A checked request and how it runs: workers, progress, memory, checkpoints, fingerprints, batches, the refit.

It may import result and what is below; select_k and its relatives are thin functions over it.
"""
