"""Reading text, Chinese and English: folding, sentences, and whether a fact is in a text."""
