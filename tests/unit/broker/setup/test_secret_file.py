"""The file with the group's secret: what may be in it, and what a change of it does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.base.group_secret import fingerprint
from gantrymq.broker.setup.secret_file import SECRET_BYTES_MAX, SecretFile
from gantrymq.ha.protocol.proofs import GroupSecret

OLD, NEW = b"0123456789abcdef", b"fedcba9876543210"
SAID = b"what was said"


def proves(file: SecretFile, *secrets: bytes) -> bool:
    """Whether it makes the proofs of the first of these, and believes all of them, no others."""
    known = [each for each in (OLD, NEW) if believes(file, each)]
    return file.secret.prove(SAID) == GroupSecret(secrets[0]).prove(SAID) and {*known} == {*secrets}


def believes(file: SecretFile, secret: bytes) -> bool:
    try:
        file.secret.must_have_made(GroupSecret(secret).prove(SAID), SAID, "it")
    except Exception:
        return False
    return True


def replace(path: Path, content: bytes) -> None:
    """As Kubernetes does it: another file takes its place."""
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.rename(path)


def test_blanks_around_a_secret_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"  " + OLD + b" \r\n\n")
    assert proves(SecretFile(str(path)), OLD)


def test_each_step_of_a_change_counts_without_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(OLD)
    file = SecretFile(str(path))
    for secrets in ((OLD,), (OLD, NEW), (NEW, OLD), (NEW,)):
        replace(path, b"\n".join(secrets) + b"\n")
        file.refresh()
        assert proves(file, *secrets), secrets


def test_unusable_secret_file_is_logged_once_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(OLD)
    file, told = SecretFile(str(path)), list[str]()
    file.complain = told.append
    replace(path, b"short")
    file.refresh()
    file.refresh()
    path.unlink()
    file.refresh()
    assert proves(file, OLD)
    assert len(told) == 2
    assert "is unchanged: groupSecretFile: the secret in the file has 5 bytes" in told[0]
    assert "the file cannot be read: No such file" in told[1]
    replace(path, NEW)
    file.refresh()
    assert proves(file, NEW)


def test_a_file_that_is_as_it_was_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(OLD)
    file = SecretFile(str(path))
    found = path.stat()
    with path.open("r+b") as opened:
        opened.write(NEW)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    file.refresh()
    assert proves(file, OLD)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the file has 0 lines"),
        (b"\n \n", "the file has 0 lines"),
        (b"\n".join([OLD, NEW, OLD]), "the file has 3 lines, each of which is a secret"),
        (OLD[:15], "has 15 bytes, and must have 16 to 4096"),
        (OLD + b"\n" + NEW[:15], "has 15 bytes"),
        (b"x" * (SECRET_BYTES_MAX + 1), "has 4097 bytes"),
    ],
)
def test_invalid_secret_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "secret"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=told):
        SecretFile(str(path))


def test_the_report_is_of_the_file_as_it_is_and_shows_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(OLD)
    file = SecretFile(str(path))
    assert file.report().decode().split() == [fingerprint(OLD)]
    replace(path, NEW + b"\n" + OLD)
    assert file.report().decode().split() == [fingerprint(NEW), fingerprint(OLD)]
    assert proves(file, NEW, OLD)
    replace(path, b"short")
    assert file.report().decode().split() == [fingerprint(NEW), fingerprint(OLD)]
