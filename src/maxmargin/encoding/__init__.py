"""Encoders of inputs and outputs, from the forms that users have to flat arrays."""
