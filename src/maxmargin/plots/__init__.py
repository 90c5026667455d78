"""Pictures, where one would rather look than read (matplotlib: extra ``plot``)."""
