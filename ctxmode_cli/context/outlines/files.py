def file_reference(name, arguments, text):
    return None
