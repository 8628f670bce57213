"""The record: messages, tool calls, facts and the requests in it, and reading and writing record files."""
