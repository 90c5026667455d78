"""Words, sentences, sequences of tokens and trees."""
