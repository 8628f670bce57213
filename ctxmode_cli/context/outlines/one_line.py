def one_line(name, arguments, text):
    return text if len(text) <= 120 and "\n" not in text else name + text[:100].replace("\n", " ")
