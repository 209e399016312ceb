"""Tests the credentials and certificates of the operator's clients."""

from __future__ import annotations

from pathlib import Path

from gantrymq.acl.signature.signature import Credentials
from gantrymq.operator.brokers.access import AccessFiles, BrokerAccess
from gantrymq.runtime.security.certificates import ClientTls

ACCESS = BrokerAccess(Credentials("administrator", "a-secret-of-some-length"), "authority")


def trusted(files: AccessFiles, access: BrokerAccess) -> Path:
    tls = files.keywords(access)["tls"]
    assert isinstance(tls, ClientTls)
    assert tls.checks_server
    return Path(tls.trust_cert_path)


def test_a_client_of_a_secure_cluster_signs_requests_and_verifies_server_certificates() -> None:
    files = AccessFiles()
    keywords = files.keywords(ACCESS)
    assert keywords["access_key"] == "administrator"
    assert keywords["secret_key"] == ACCESS.credentials.secret_key
    assert trusted(files, ACCESS).read_text() == "authority"


def test_each_authority_has_its_own_file() -> None:
    files = AccessFiles()
    other = BrokerAccess(ACCESS.credentials, "another authority")
    assert trusted(files, ACCESS) == trusted(files, ACCESS)
    assert trusted(files, ACCESS) != trusted(files, other)


def test_only_this_process_reads_the_files() -> None:
    assert trusted(AccessFiles(), ACCESS).parent.stat().st_mode & 0o777 == 0o700


def test_a_client_of_an_open_cluster_has_no_account_and_no_tls() -> None:
    assert AccessFiles().keywords(None) == {}
