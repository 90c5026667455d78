"""Rankings and selections of documents."""
