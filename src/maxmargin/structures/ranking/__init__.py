"""Rankings of the documents of a query."""
