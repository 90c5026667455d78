"""Compiled algorithms that several structures share: free functions over plain arrays."""
