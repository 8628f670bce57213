"""ctxmode: replay recorded conversations through each context mode and measure what each would have sent."""

__version__ = "0.1.0"
