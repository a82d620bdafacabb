"""How much a session keeps; how large a payload may be says contracts/bounds.py."""

MAX_WAITING_MESSAGES = 200
MAX_WAITING_BYTES = 150_000
"""Messages that wait until those before them are answered."""

MAX_SEEN_MESSAGES = 10_000
"""Messages whose ids a session knows again."""

MAX_KEPT_OUTCOMES_BYTES = 2_000_000
"""Results of messages that an execution can be asked for."""

MAX_CARRIED_OUTCOMES_BYTES = 60_000
"""Those that a new execution begins with."""

MAX_CARRIED_CONVERSATION_BYTES = 60_000
"""What it keeps of what was said; the rest is in history, and in the archive."""
