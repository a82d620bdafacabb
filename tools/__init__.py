"""What an agent can do: the tool contract, its checks, and how a tool runs. No Temporal."""
