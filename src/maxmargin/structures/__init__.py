"""What is predicted: joint features, losses and argmaxes, one file per output space."""
