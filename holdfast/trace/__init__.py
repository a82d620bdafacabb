"""What a run did, read from its history alone: as values, as a tree of spans, as a transcript."""
