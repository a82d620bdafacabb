"""Providers of models: one dialect per folder, behind one small protocol. No Temporal."""
