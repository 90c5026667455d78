"""Files: formats that people have, model files, atomic writing."""
