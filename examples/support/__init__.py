"""A support desk that refunds money, once, and only as far as somebody answers for it."""
