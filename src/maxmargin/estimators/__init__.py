"""What most users import."""
