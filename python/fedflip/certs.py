"""Certificates of servers and devices: the same folders as ``fedflip certs`` makes.

A device's certificate holds its name and the public half of its coin, so that it can use neither another name nor a coin of
its choice. The folder of an authority holds the authority's key: whoever has it can make devices. Carry only
``devices/NAME`` to a device.

Examples:
    >>> import tempfile
    >>> from fedflip import certs
    >>> folder = tempfile.TemporaryDirectory()
    >>> authority = certs.create(folder.name + "/certs", hosts=["localhost", "127.0.0.1"])
    >>> phone, laptop = authority.issue("phone", "laptop")
    >>> phone.name, phone.days_left, phone.folder.name
    ('phone', 365, 'phone')
    >>> authority.revoke("laptop")
    >>> [(device.name, device.state) for device in authority.devices]
    [('phone', 'valid'), ('laptop', 'revoked')]
    >>> folder.cleanup()
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from fedflip import _fedflip
from fedflip._arguments import count, listed, path_text, text
from fedflip._errors import InputError

__all__ = ["Authority", "Identity", "create", "open"]

#: A certificate that is valid for fewer days is due for renewal.
EXPIRES_SOON_DAYS = 30
_DAYS_MAX = 3650


@dataclass(frozen=True)
class Identity:
    """The identity of a device. It can be used as a path: ``fedflip.join(address, identity=identity)``.

    Attributes:
        name: The name of the device, in records and logs.
        folder: The folder to carry to the device.
        serial: The serial number of the certificate, in hexadecimal digits.
        coin: The public half of the device's coin, in hexadecimal digits.
        not_after: The last second of the certificate.
        revoked_at: When the identity was revoked; None if it was not.
    """

    name: str
    folder: Path
    serial: str
    coin: str
    not_after: datetime
    revoked_at: datetime | None = None

    def __fspath__(self) -> str:
        return os.fspath(self.folder)

    @property
    def state(self) -> Literal["valid", "expired", "revoked"]:
        """Whether servers admit the device now."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.not_after.timestamp() < _now() else "valid"

    @property
    def days_left(self) -> int:
        """Days until the certificate expires, a day that has begun included; below 0 after that."""
        return -int((_now() - self.not_after.timestamp()) // 86_400)

    @property
    def is_due(self) -> bool:
        """Whether the certificate should be renewed: it expires within 30 days."""
        return self.revoked_at is None and self.days_left < EXPIRES_SOON_DAYS

    def __repr__(self) -> str:
        days = f", {self.days_left} days left" if self.state == "valid" else ""
        return f"Identity({self.name!r}, {self.state}{days})"


class Authority:
    """A folder with a certificate authority, as ``create`` makes and ``open`` finds it.

    Args:
        folder: The folder of the authority.

    Raises:
        InputError: If the folder holds no authority.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(path_text("folder", folder))
        self.devices  # noqa: B018 - a folder without an authority is refused at once

    @property
    def folder(self) -> Path:
        """The folder of the authority; a server needs it as ``certs=``."""
        return self._folder

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names and addresses in the server's certificate."""
        return tuple(_fedflip.certs_server_hosts(self._folder))

    @property
    def devices(self) -> tuple[Identity, ...]:
        """All identities, in the order in which they were issued."""
        return tuple(self._identities())

    def __fspath__(self) -> str:
        return os.fspath(self._folder)

    def __getitem__(self, name: str) -> Identity:
        """The identity of a device."""
        found = {identity.name: identity for identity in self._identities()}
        if name in found:
            return found[name]
        from difflib import get_close_matches

        near = get_close_matches(str(name), list(found), n=1)
        raise InputError(
            f"{name}: no identity of this name was issued here",
            where="name",
            value=name,
            remedy=f"did you mean {near[0]}?" if near else "devices lists the identities that were issued",
        )

    def issue(self, *names: str, days: int = 365) -> tuple[Identity, ...]:
        """Issues identities: keys, certificates and coins. All names are checked before the first is issued.

        Args:
            *names: Names of devices: up to 63 letters, digits, dots, dashes and underscores. A name is used once.
            days: How long the certificates are valid, from 1 to 3650 days.

        Returns:
            The identities, in the order of the names.

        Raises:
            InputError: If a name cannot be used, or was used before.
        """
        _fedflip.certs_devices(self._folder, _names(names), _checked_days(days), _now())
        return tuple(self[name] for name in names)

    def renew(self, *names: str, days: int = 365) -> tuple[Path, ...]:
        """Renews certificates of devices: the name, the key, the coin and the place in runs stay.

        Copy each file into the identity folder of its device. Running agents and servers load the files within seconds.

        Args:
            *names: Names of devices.
            days: How long the certificates are valid from now on, from 1 to 3650 days.

        Returns:
            The new ``cert.pem`` of each device.

        Raises:
            InputError: If no identity of a name was issued, or it was revoked.
        """
        return tuple(_fedflip.certs_renew(self._folder, _names(names), _checked_days(days), _now()))

    def renew_server(self, hosts: Iterable[str] | None = None, *, days: int = 365) -> Path:
        """Renews the server's certificate, or gives it other names. A running server loads it within seconds.

        Args:
            hosts: Names and addresses by which devices reach the server; by default those of the present certificate.
            days: How long the certificate is valid, from 1 to 3650 days.

        Returns:
            The folder of the server's identity.
        """
        texts = None if hosts is None else _hosts(hosts)
        return _fedflip.certs_server(self._folder, texts, _checked_days(days), _now())

    def revoke(self, name: str) -> None:
        """Revokes an identity. Servers refuse it from their next look at the list, within seconds.

        Raises:
            InputError: If no identity of this name was issued.
        """
        _fedflip.certs_revoke(self._folder, text("name", name, remedy="write 'phone-01'"), _now())

    def _identities(self) -> Iterator[Identity]:
        for name, serial, coin, not_after, revoked in _fedflip.certs_issued(self._folder):
            yield Identity(
                name=name,
                folder=self._folder / "devices" / name,
                serial=serial,
                coin=coin,
                not_after=datetime.fromtimestamp(not_after, UTC),
                revoked_at=None if revoked is None else datetime.fromtimestamp(revoked, UTC),
            )

    def __repr__(self) -> str:
        return f"Authority({str(self._folder)!r}, {len(self.devices)} devices)"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(device.name)}</td><td>{device.serial[:8]}</td><td>{device.state}</td>"
            f"<td>{device.not_after:%Y-%m-%d}</td></tr>"
            for device in self.devices
        )
        head = "<tr><th>device</th><th>serial</th><th>state</th><th>expires</th></tr>"
        return f"<p>Authority in <code>{escape(str(self._folder))}</code></p><table>{head}{rows}</table>"


def create(
    folder: str | os.PathLike[str] = "certs",
    *,
    hosts: Iterable[str] = ("localhost", "127.0.0.1", "::1"),
    days: int = 365,
) -> Authority:
    """Makes an authority, and the identity of its server.

    Args:
        folder: A new folder for the authority.
        hosts: Names and addresses by which devices reach the server.
        days: How long the server's certificate is valid, from 1 to 3650 days.

    Returns:
        The authority.

    Raises:
        InputError: If the folder holds an authority already, or a host is not a valid name or address.
    """
    place = path_text("folder", folder)
    _fedflip.certs_create(place, _hosts(hosts), _checked_days(days), _now())
    return Authority(place)


def open(folder: str | os.PathLike[str] = "certs") -> Authority:
    """Opens the folder of an authority, which ``create`` or ``fedflip certs init`` has made.

    Raises:
        InputError: If the folder holds no authority.
    """
    return Authority(folder)


def _now() -> int:
    """The present time in seconds since 1970."""
    return int(time.time())


def _hosts(hosts: Any) -> list[str]:
    remedy = "name at least one host, such as localhost"
    return _texts("hosts", [hosts] if isinstance(hosts, str) else hosts, remedy)


def _names(names: tuple[Any, ...]) -> list[str]:
    return _texts("names", names, "name at least one device, such as 'phone-01'")


def _texts(where: str, texts: Any, remedy: str) -> list[str]:
    found = listed(where, texts, "a list of texts", remedy=remedy)
    if not found:
        raise InputError(f"{where} is empty", where=where, value=(), remedy=remedy)
    return [text(where, one, remedy=remedy) for one in found]


def _checked_days(days: Any) -> int:
    return count("days", days, least=1, most=_DAYS_MAX)
