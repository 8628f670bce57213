"""The report as one page for a browser: charts, the worst conversations, and a budget to play with.

It needs the extra `html`; nothing here imports one of its libraries before a page is made.
"""
