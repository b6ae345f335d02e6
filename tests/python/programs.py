"""Parts of programs that tests start."""

# Goes on once the writer has saved what the program trained.
WAIT_UNTIL_SAVED = """
    import glob, os, signal, time
    from assay import _native
    def is_saved():
        for part in glob.glob("run.assay.*part"):
            try:
                scopes = _native.read(part)["scopes"]
            except (OSError, ValueError):
                return False
            return any(scope["name"] == "backward" for scope in scopes)
    while not is_saved():
        time.sleep(0.05)
"""
