"""Random instances of every structure, with what their definitions say about them in plain Python."""
