"""What every room uses: errors, checks of input and of parameters, ragged arrays, compilation, memory."""
