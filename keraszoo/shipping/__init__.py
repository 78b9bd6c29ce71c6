"""Models that have a name: finding, listing and fetching them, and writing the index of those that ship."""
