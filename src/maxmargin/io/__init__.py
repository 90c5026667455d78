"""Files: data formats, model files, atomic writing."""
