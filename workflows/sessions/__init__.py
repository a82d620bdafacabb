"""Sessions: how one opens, what it does between messages, what it answers, how it closes."""
