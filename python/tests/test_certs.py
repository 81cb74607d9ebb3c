"""Identities from Python: the folders of the CLI, and refusals that name the argument."""

from __future__ import annotations

import json
import os
import pickle
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fedflip import FedflipError, InputError, certs


def cli(*words: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "fedflip", "certs", *words], check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def authority(tmp_path: Path) -> certs.Authority:
    return certs.create(tmp_path / "certs", hosts=["localhost", "127.0.0.1", "::1"])


def test_an_authority_and_its_devices(authority: certs.Authority) -> None:
    assert authority.hosts == ("localhost", "127.0.0.1", "::1")
    phone, laptop = authority.issue("phone", "laptop", days=90)
    assert (phone.name, phone.state, phone.days_left, phone.is_due) == ("phone", "valid", 90, False)
    assert phone.serial != laptop.serial and phone.coin != laptop.coin
    assert phone.folder == authority.folder / "devices" / "phone" and os.fspath(phone) == str(phone.folder)
    assert {path.name for path in phone.folder.iterdir()} == {"cert.pem", "key.pem", "coin.key", "ca.pem"}
    assert stat.S_IMODE((phone.folder / "key.pem").stat().st_mode) == 0o600
    assert [device.name for device in authority.devices] == ["phone", "laptop"]
    assert authority["laptop"] == laptop
    assert repr(phone) == "Identity('phone', valid, 90 days left)" and "2 devices" in repr(authority)
    assert "<td>phone</td>" in authority._repr_html_()
    assert pickle.loads(pickle.dumps(phone)) == phone
    assert pickle.loads(pickle.dumps(authority)).devices == authority.devices


def test_renewing_keeps_the_name_and_the_coin(authority: certs.Authority) -> None:
    (phone,) = authority.issue("phone", days=10)
    assert phone.is_due
    before = {path.name: path.read_bytes() for path in phone.folder.iterdir()}
    (file,) = authority.renew("phone", days=100)
    renewed = authority["phone"]
    assert file == phone.folder / "cert.pem"
    assert (renewed.coin, renewed.days_left, renewed.is_due) == (phone.coin, 100, False)
    assert renewed.serial != phone.serial
    after = {path.name: path.read_bytes() for path in phone.folder.iterdir()}
    assert [name for name in before if before[name] != after[name]] == ["cert.pem"]


def test_revoking_is_for_good(authority: certs.Authority) -> None:
    authority.issue("lost")
    authority.revoke("lost")
    assert authority["lost"].state == "revoked" and authority["lost"].revoked_at is not None
    assert abs((datetime.now(UTC) - authority["lost"].revoked_at).total_seconds()) < 60
    assert json.loads((authority.folder / "revoked.json").read_text()) == ["lost"]
    with pytest.raises(InputError) as caught:
        authority.renew("lost")
    assert (caught.value.where, caught.value.value) == ("names", "lost")
    assert "new name" in caught.value.remedy


def test_the_server_gets_other_names(authority: certs.Authority) -> None:
    before = (authority.folder / "server" / "cert.pem").read_bytes()
    assert authority.renew_server(["fl.example.org", "10.0.0.1"], days=9) == authority.folder / "server"
    assert authority.hosts == ("fl.example.org", "10.0.0.1")
    authority.renew_server()
    assert authority.hosts == ("fl.example.org", "10.0.0.1"), "by default they stay"
    assert (authority.folder / "server" / "cert.pem").read_bytes() != before


def test_expired_identities_are_known(authority: certs.Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    real = certs._now()
    monkeypatch.setattr(certs, "_now", lambda: real - 10 * 86_400)
    authority.issue("old", days=1)
    monkeypatch.setattr(certs, "_now", lambda: real)
    assert authority["old"].state == "expired" and authority["old"].days_left < 0


def test_the_command_line_reads_and_writes_the_same_folder(authority: certs.Authority) -> None:
    authority.issue("from-python", days=30)
    cli("device", "from-cli", "--days", "20", "--dir", str(authority.folder))
    listed = json.loads(cli("list", "--json", "--dir", str(authority.folder)))
    assert [device["name"] for device in listed] == ["from-python", "from-cli"]
    again = certs.open(authority.folder)
    assert [(device.name, device.days_left) for device in again.devices] == [
        ("from-python", 30),
        ("from-cli", 20),
    ]
    assert [device.serial for device in again.devices] == [device["serial"] for device in listed]


def test_refusals_name_the_argument(authority: certs.Authority, tmp_path: Path) -> None:
    authority.issue("phone", "laptop")
    cases = [
        (lambda: authority.issue("phone"), "names", "phone", "new name"),
        (lambda: authority.issue("tablet", "tablet"), "names", "tablet", "name another one"),
        (lambda: authority.issue("a/b"), "names", "a/b", "letters"),
        (lambda: authority.issue(), "names", (), "at least one"),
        (lambda: authority.issue("x", days=0), "days", 0, "from 1 to 3650"),
        (lambda: authority.issue("x", days=True), "days", True, "from 1 to 3650"),
        (lambda: authority.issue("x", days=3651), "days", 3651, "from 1 to 3650"),
        (lambda: authority.renew("phon"), "names", "phon", "did you mean phone?"),
        (lambda: authority.revoke("lapto"), "names", "lapto", "did you mean laptop?"),
        (lambda: authority["lapto"], "name", "lapto", "did you mean laptop?"),
        (lambda: authority.renew_server(["a_b"]), "hosts", "a_b", "192.168.1.10"),
        (lambda: certs.create(tmp_path / "new", hosts=[]), "hosts", (), "at least one"),
        (lambda: certs.create(authority.folder), "folder", str(authority.folder / "ca.key"), "certs.open"),
        (lambda: certs.open(tmp_path / "nowhere"), "folder", str(tmp_path / "nowhere"), "certs.create"),
    ]
    for call, where, value, remedy in cases:
        with pytest.raises(InputError) as caught:
            call()
        error = caught.value
        assert (error.where, error.value) == (where, value), error
        assert remedy in error.remedy, error
    assert [device.name for device in authority.devices] == ["phone", "laptop"], "all names are checked first"
    assert not (tmp_path / "new").exists()


def test_a_folder_is_changed_by_one_at_a_time(authority: certs.Authority) -> None:
    import fcntl

    with open(authority.folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(FedflipError, match="another fedflip is changing it"):
            authority.issue("phone")
    authority.issue("phone")


def test_no_call_leaks(authority: certs.Authority) -> None:
    import resource

    authority.issue("phone")
    for _ in range(200):
        assert len(authority.devices) == 1
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(2_000):
        assert len(authority.devices) == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 5_000, "kilobytes"
