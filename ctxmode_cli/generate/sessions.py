def generate_sessions(count, seed, langs=("zh", "en")):
    return iter(())
