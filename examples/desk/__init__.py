"""A support desk of four agents: who answers, who finds out, who pays, who sends."""
