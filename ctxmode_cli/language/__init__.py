"""Reading text, Chinese and English: folding, sentences, whether a fact is in a text, and which facts it states."""
