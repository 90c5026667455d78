"""From the forms of inputs and outputs that users have to flat arrays, by kind."""
