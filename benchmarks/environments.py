"""The environments of the contestants: each has its own, made by `venv` and pip, or npm, under `.bench/`.

An environment is made once, and again when what it should contain has changed. Nothing is taken from the
environment that the benchmark itself runs in, so contestants do not share dependencies that would suit only
one of them.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.contestant import ROOT, Contestant
from benchmarks.row import FASTMCP, FLOOR, OURS, SDK, TYPESCRIPT

CACHE = ROOT / ".bench"
SERVERS = "uvicorn==0.55.0"
REQUIREMENTS = {
    OURS: ("-e", f"{ROOT}[trio,http]", SERVERS),
    SDK: ("mcp==2.3.0", SERVERS),
    FASTMCP: ("fastmcp==4.1.6", SERVERS),
}
PACKAGES = (
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/server@2.4.0",
    "@modelcontextprotocol/node@2.1.2",
)
SHARED = {FLOOR: OURS}
"""The floor needs what this library needs: attrs, msgspec and h11."""


class Missing(Exception):
    """A contestant cannot be had here; the text says why."""


def start(name: str, tell: Callable[[str], None]) -> Contestant:
    """A contestant, in its own environment, which is made if need be. Raises `Missing`."""
    if name == TYPESCRIPT:
        return Contestant(name, [node(), "--expose-gc", str(script(tell))])
    python = environment(SHARED.get(name, name), tell)
    return Contestant(name, [str(python), "-m", "benchmarks.peers.worker", name], {"PYTHONPATH": ""})


def environment(name: str, tell: Callable[[str], None]) -> Path:
    """The Python of a virtual environment. Raises `Missing`."""
    folder, wanted = CACHE / name, REQUIREMENTS[name]
    python = folder / "bin" / "python"
    with_what = " ".join((sys.version, *wanted))
    if not up_to_date(folder, with_what):
        tell(f"making the environment of {name}")
        shutil.rmtree(folder, ignore_errors=True)
        run(sys.executable, "-m", "venv", str(folder))
        run(str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted)
        stamp(folder).write_text(digest(with_what), encoding="ascii")
    return python


def script(tell: Callable[[str], None]) -> Path:
    """The driver in TypeScript's world, beside the packages that it needs: that is how Node finds them."""
    folder = CACHE / TYPESCRIPT
    source = Path(__file__).parent / "peers" / "typescript.mjs"
    if not up_to_date(folder, " ".join(PACKAGES)):
        if shutil.which("npm") is None:
            raise Missing("there is no npm")
        tell(f"making the environment of {TYPESCRIPT}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES)
        stamp(folder).write_text(digest(" ".join(PACKAGES)), encoding="ascii")
    shutil.copy(source, folder / source.name)
    return folder / source.name


def node() -> str:
    """Where Node is. Raises `Missing`."""
    found = shutil.which("node")
    if found is None:
        raise Missing("there is no Node.js")
    return found


def stamp(folder: Path) -> Path:
    """The file that says what an environment was made of."""
    return folder / "made-of"


def digest(text: str) -> str:
    """What is in the stamp."""
    return hashlib.sha256(text.encode()).hexdigest()


def up_to_date(folder: Path, text: str) -> bool:
    """Whether an environment is there, and made of this."""
    return stamp(folder).exists() and stamp(folder).read_text(encoding="ascii") == digest(text)


def run(*command: str) -> None:
    """Run a command to its end. Raises `Missing` if it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Missing(f"`{' '.join(command)}` failed: {done.stderr.strip()[-300:]}")
