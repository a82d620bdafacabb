"""Chains of models: who answers when the wanted one fails."""
