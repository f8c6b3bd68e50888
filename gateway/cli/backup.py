"""`gateway backup FILE` and `gateway restore FILE`: the whole state directory as one archive.

Everything in it is saved: keys, secrets, databases; only what a running gateway makes anew is left out. Databases are
copied by SQLite itself, so a backup of a running gateway is whole. The archive is a tar, readable by its owner alone,
since it holds secrets.
"""

import argparse
import contextlib
import os
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, cast

from gateway.access.private_files import copy_private, make_private_folder, naming, own_like_folder
from gateway.cli.options import Parsers, add_state_options, say
from gateway.config.environment import Environment
from gateway.errors import GatewayError, InvalidRequest
from gateway.shared_state.bus import BUS_FOLDER, has_listeners

_SQLITE = b"SQLite format 3\0"
"""The first bytes of a database (sqlite.org/fileformat)."""

_MADE_ANEW = ("metrics",)
"""Folders that are not saved."""

_TAR, _TAR_AT = b"ustar", 257
"""What a tar has at this place of its first header (POSIX pax). Earlier backups beside the files are not saved."""

_SIDECARS = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database; its contents are in the copy."""


def add_commands(parsers: Parsers) -> None:
    """Add `backup` and `restore`."""
    for name, command in (("backup", _backup), ("restore", _restore)):
        parser = parsers.add_parser(name)
        parser.add_argument("file", type=Path, metavar="FILE.tar")
        add_state_options(parser)
        parser.set_defaults(command=command)


def _backup(arguments: argparse.Namespace, environment: Environment) -> int:
    state_dir = _existing(arguments.state_dir or environment.state_dir)
    file: Path = arguments.file
    if not file.parent.is_dir():
        raise InvalidRequest(f"{file.parent}: no such folder")
    if file.exists() and not file.is_file():
        raise InvalidRequest(f"{file}: is no regular file; name a new one")
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # mode 0600
    count = 0
    try:
        with naming(file), os.fdopen(descriptor, "wb") as raw, tarfile.open(fileobj=raw, mode="w") as archive:
            for path in _saved_files(state_dir, Path(name)):
                _add(archive, path, path.relative_to(state_dir))
                count += 1
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    say(f"{count} files of {state_dir} are saved in {file}, which holds secrets: keep it private\n")
    return 0


def _existing(state_dir: Path) -> Path:
    if not state_dir.is_dir():
        raise InvalidRequest(f"{state_dir}: no such folder; name the state with --state-dir")
    return state_dir.resolve()


def _saved_files(state_dir: Path, unfinished: Path) -> Iterator[Path]:
    """All files but those that a running gateway makes anew, earlier backups, and the `unfinished` one."""
    for folder, folders, names in os.walk(state_dir):
        folders[:] = sorted(each for each in folders if each not in _MADE_ANEW)
        for name in sorted(names):
            path = Path(folder) / name
            if not path.is_file() or path.is_symlink() or name.endswith((".lock", "-lock", *_SIDECARS)):
                continue
            if not path.samefile(unfinished) and not _is_tar(path):
                yield path


def _is_tar(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(_TAR_AT)
        return file.read(len(_TAR)) == _TAR


def _add(archive: tarfile.TarFile, path: Path, name: Path) -> None:
    with path.open("rb") as file:
        if file.read(len(_SQLITE)) != _SQLITE:
            archive.add(path, str(name), recursive=False)
            return
    with tempfile.NamedTemporaryFile(prefix="gateway-backup-") as copy:
        with (
            contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as source,
            contextlib.closing(sqlite3.connect(copy.name)) as target,
        ):
            try:
                source.backup(target)
            except sqlite3.Error as error:
                raise GatewayError(f"{path}: cannot be copied: {error}") from None
        entry = archive.gettarinfo(str(path), str(name))
        entry.size = Path(copy.name).stat().st_size
        with Path(copy.name).open("rb") as whole:
            archive.addfile(entry, whole)


def _restore(arguments: argparse.Namespace, environment: Environment) -> int:
    state_dir = arguments.state_dir or environment.state_dir
    if has_listeners(state_dir / BUS_FOLDER):
        stop = "stop it first (systemctl stop gateway.socket gateway.service), then restore"
        raise InvalidRequest(f"a gateway serves from {state_dir}; {stop}")
    state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    state_dir = state_dir.resolve()
    try:
        with tarfile.open(arguments.file) as archive:
            entries = [entry for entry in archive if entry.isfile()]
            targets = _targets(state_dir, [entry.name for entry in entries])
            with tempfile.TemporaryDirectory(dir=state_dir, prefix=".restore.") as folder:
                parts = [Path(folder) / str(number) for number in range(len(entries))]
                for entry, part in zip(entries, parts, strict=True):  # all is there before the first is replaced
                    copy_private(part, cast("IO[bytes]", archive.extractfile(entry)), entry.mode & 0o700)
                for part, target in zip(parts, targets, strict=True):
                    _put_in_place(part, target)
    except (tarfile.TarError, EOFError) as error:
        reason = str(error).splitlines()[0].removesuffix(":")  # tarfile adds a line for each compression it tried
        raise InvalidRequest(f"{arguments.file}: is not a backup: {reason}") from None
    say(f"{len(entries)} files are restored in {state_dir}; start the gateway\n")
    return 0


def _put_in_place(part: Path, target: Path) -> None:
    make_private_folder(target.parent)
    with part.open("rb") as file:
        own_like_folder(file.fileno(), target)
    part.replace(target)
    for suffix in _SIDECARS:
        target.with_name(target.name + suffix).unlink(missing_ok=True)


def _targets(state_dir: Path, names: Sequence[str]) -> list[Path]:
    """Where the files of an archive belong. Raises InvalidRequest where one lies outside of the state directory, or
    cannot be put there because of another one or of what is there."""
    targets = [_target(state_dir, name) for name in names]
    files = set(targets)
    for target in targets:
        folders = [each for each in target.parents if each.is_relative_to(state_dir)]
        wrong = [each for each in folders if each in files or (each.exists() and not each.is_dir())]
        if wrong or target.is_dir():
            raise InvalidRequest(f"{(wrong or [target])[0]} is a file and a folder; nothing was restored")
    return targets


def _target(state_dir: Path, name: str) -> Path:
    """Where a file of an archive belongs. Raises InvalidRequest for a place outside of the state directory."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or name.startswith("/"):
        raise InvalidRequest(f"the archive holds the name {name!r}, which is not below the state directory")
    target = state_dir.joinpath(*parts)
    if not target.parent.resolve().is_relative_to(state_dir):
        raise InvalidRequest(f"{target.parent} leads out of the state directory")
    return target
