"""The words that every part of Holdfast shares: frozen values, no behaviour beyond arithmetic."""
