"""The error of a wrong configuration."""


class ConfigError(Exception):
    """The text is `SOURCE: key.path: what is wrong; what is allowed`, and never holds a secret.

    `source` is the file, or the variable that is wrong; `path` is the key, empty for a fault of the whole file.
    """

    def __init__(self, source: str, path: str, message: str) -> None:
        super().__init__(f"{source}: {path}: {message}" if path else f"{source}: {message}")
        self.path = path
        self._parts = source, path, message

    def __reduce__(self) -> tuple[type["ConfigError"], tuple[str, str, str]]:
        """As pickle wants it: how the error is made again in another process."""
        return type(self), self._parts
