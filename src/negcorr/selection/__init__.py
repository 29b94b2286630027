"""The search of features by the data, where something about them is left open."""
