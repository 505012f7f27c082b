"""Where an HTTP server is: a URL, taken apart for whoever connects, and followed where a redirect leads.

`HttpUrl.parse` reads what a person wrote, so everything that could not be meant is refused in words; nothing
is repaired but a missing path, letters beyond ASCII and the case of a host. `join` resolves a reference as
RFC 3986 (section 5.2) has it.
"""

from __future__ import annotations

import re

import attrs

from ._errors import LocalProtocolError
from ._plain import shown

PORTS = {"http": 80, "https": 443}

_UNSENDABLE = re.compile(r"[\x00-\x20\x7f\ud800-\udfff]")
_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(\?[^#]*)?(?:#.*)?")
_AUTHORITY = re.compile(r"(?:\[([^\[\]]*)\]|([^\[\]:]*))(?::([0-9]{0,5}))?")
_IPV6 = re.compile(r"[0-9a-f]*:[0-9a-f:.]+")
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")


@attrs.frozen
class HttpUrl:
    """A URL of an HTTP server: `host` is a name in lower case and in its ASCII form, or an address without
    brackets; `target` is path and query, as a request says them.
    """

    scheme: str
    host: str
    port: int
    target: str

    @classmethod
    def parse(cls, text: str) -> HttpUrl:
        """Read an absolute URL; what follows a `#` is dropped.

        Raises `LocalProtocolError` for another scheme than http and https, for a host or port that cannot be,
        for credentials (they belong into an `Authorization` header), spaces and control characters.
        """
        scheme, authority, path, query = _split(text)
        scheme = (scheme or "").lower()
        if scheme not in PORTS:
            raise LocalProtocolError(f"a URL begins with http:// or https://, {shown_url(text)} does not")
        if not authority:
            raise LocalProtocolError(f"the URL {shown_url(text)} names no host")
        if "@" in authority:
            raise LocalProtocolError("a URL holds no user or password here: use the Authorization header")
        host, port = _host_and_port(authority)
        return cls(scheme, host, PORTS[scheme] if port is None else port, _target(path, query))

    @property
    def authority(self) -> str:
        """Host and port as the `Host` field has them; the port is left out where it is that of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port, which must be equal for two URLs to be of one server."""
        return f"{self.scheme}://{self.authority}"

    def join(self, reference: str) -> HttpUrl:
        """The URL that a reference means here, relative or not; raises what `parse` raises."""
        scheme, authority, path, query = _split(reference)
        if scheme is not None:
            return HttpUrl.parse(reference)
        if authority is not None:
            return HttpUrl.parse(f"{self.scheme}:{reference}")
        here, mark, asked = self.target.partition("?")
        if not path:
            return attrs.evolve(self, target=_target(here, query or mark + asked))
        whole = path if path.startswith("/") else f"{here.rpartition('/')[0]}/{path}"
        return attrs.evolve(self, target=_target(_without_dots(whole), query))


def _split(text: str) -> tuple[str | None, str | None, str, str]:
    """Scheme and authority, if there are any, path, and query with its mark."""
    match = _PARTS.fullmatch(text)
    if match is None or _UNSENDABLE.search(text):
        raise LocalProtocolError(f"the URL {shown_url(text)} has spaces or characters that no URL has")
    return match[1], match[2], match[3], match[4] or ""


def _host_and_port(authority: str) -> tuple[str, int | None]:
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise LocalProtocolError(f"{shown(authority)} is no host and port")
    port = int(match[3]) if match[3] else None
    if port is not None and not 0 < port < 65_536:
        raise LocalProtocolError(f"{port} is no port")
    return _address(match[1]) if match[1] is not None else _name(match[2]), port


def _address(text: str) -> str:
    address = text.lower()
    if not _IPV6.fullmatch(address):
        raise LocalProtocolError(f"{shown(text)} is no IPv6 address")
    return address


def _name(text: str) -> str:
    """A name in its ASCII form: what DNS, TLS and the `Host` field know it by."""
    try:
        name = text.lower() if text.isascii() else text.encode("idna").decode().lower()
    except UnicodeError:
        name = ""
    if not _NAME.fullmatch(name):
        raise LocalProtocolError(f"{shown(text)} is no host name")
    return name


def _target(path: str, query: str) -> str:
    """A request target; letters beyond ASCII as the bytes of their UTF-8."""
    whole = (path or "/") + query
    return re.sub(
        r"[^\x00-\x7f]+", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), whole
    )


def _without_dots(path: str) -> str:
    """An absolute path without the segments "." and ".." (RFC 3986, 5.2.4)."""
    kept: list[str] = []
    *segments, last = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            kept[-1:] = []
        elif segment != ".":
            kept.append(segment)
    if last == "..":
        kept[-1:] = []
    return "/".join(["", *kept, "" if last in (".", "..") else last])


def shown_url(text: str) -> str:
    """A URL as an error message quotes it: without what may be a secret, its query and credentials."""
    return shown(re.sub(r"//[^/]*@", "//", re.split(r"[?#]", text, maxsplit=1)[0]))
