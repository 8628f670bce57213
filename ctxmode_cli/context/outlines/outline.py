def outline(text, limit, count):
    return text[:80]
