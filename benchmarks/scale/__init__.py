"""What large tables cost, and what they change: the size of subsamples, and seconds and memory against rows."""
