"""Labels of the nodes of graphs whose neighbours tend to agree."""
