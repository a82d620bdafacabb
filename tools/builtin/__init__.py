"""Tools that come with Holdfast."""
