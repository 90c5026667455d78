"""Secondary structures of RNA."""
