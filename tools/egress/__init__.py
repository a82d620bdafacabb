"""The only way out of the sandbox: HTTP that the worker asks on behalf of a tool, well guarded."""
