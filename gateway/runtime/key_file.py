"""Where the keys of a configuration are, when their absence is an error, and the first of them."""

from pathlib import Path

from gateway.access.keys import KeyFile, KeyRequest
from gateway.access.private_files import USER_HASH_KEY, write_private
from gateway.config.config_error import ConfigError
from gateway.config.server_settings import Access
from gateway.config.settings import Config
from gateway.domain import SCOPES
from gateway.embedded.servers import dev_key_path
from gateway.errors import GatewayError


def key_file(config: Config) -> KeyFile:
    """The key file. Raises ConfigError when it cannot be read, or when it is gone though the configuration names one or
    this state directory has been served from: new keys must then be the operator's decision."""
    state, keys = config.state_dir, KeyFile(config.state_dir / config.access.keys_file)
    is_named = config.access.keys_file != Access().keys_file
    if keys.path.exists():
        try:
            keys.read_existing()
        except GatewayError as error:
            raise ConfigError(str(keys.path), "access.keys_file", error.message) from None
        except OSError as error:
            raise ConfigError(str(keys.path), "access.keys_file", f"cannot be read: {error.strerror}") from None
        return keys
    if not (is_named or dev_key_path(state).exists() or (state / USER_HASH_KEY).exists()):
        return keys
    remedy = "restore it, or make keys with `gateway keys create`"
    raise ConfigError(str(keys.path), "access.keys_file", f"no such file, though this gateway has had keys; {remedy}")


def ensure_dev_key(keys: KeyFile, path: Path) -> bool:
    """Make a first key with all scopes and write it to `path`, unless that file or any key exists. Returns whether it
    was made. Raises InvalidRequest, OSError."""
    if path.exists() or keys.read():
        return False
    key, _ = keys.create(KeyRequest(name="dev", scopes=SCOPES))
    write_private(path, key.encode() + b"\n")
    return True
