"""Write the parts of the documentation that are the code seen from outside: states, features, rooms.

    python docs/generate.py            write states.md, features.md and the rooms in architecture.md
    python docs/generate.py --check    write nothing; fail if one of them is not what would be written

The state diagrams come from the transition tables, the features from the table of features by revision and
from what the fields of the values say of themselves, the rooms from the first sentence of each module.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

import mcp_sansio
from mcp_sansio import ALL_VERSIONS, Era, _types
from mcp_sansio._h11_visit import VISIT
from mcp_sansio._http_exchange import EXCHANGE
from mcp_sansio._tables import TABLES, Table
from mcp_sansio._versions import FEATURES, Feature, era_of, supports
from mcp_sansio.simulation._checking import Checker
from mcp_sansio.simulation._checks.properties import PROPERTIES
from mcp_sansio.simulation._faults import STREAM, STRIKES
from mcp_sansio.simulation._faults_peer import PEER
from mcp_sansio.simulation._http.faults import EXCHANGES
from mcp_sansio.simulation._situations import Situation

DOCS = Path(__file__).parent
CORE = Path(mcp_sansio.__file__).parent
NOTE = "<!-- Written by docs/generate.py from the code; do not edit. -->\n"

STATES = """\
# States

Every state that the library keeps is a row of a table in `mcp_sansio/_tables.py` (that of HTTP exchanges is
in `_http_exchange.py`); what has no row cannot happen. These are all of them.
"""

FEATURES_HEAD = """\
# Features by revision

What each published revision of the protocol can express, as far as prompts are concerned. A client and a
server say only what the revision has that they speak with each other: members that it lacks are left out
where they are optional; a value that it has no form for is refused (a server answers -32603 and reports a
`HandlerFailed`).
"""

ABOUT: dict[Feature, str] = {
    "audio": "audio content in messages",
    "batching": "JSON-RPC batches, to be received",
    "completions_capability": "servers declare `completions`; before that, clients just try",
    "progress_message": "progress notifications with a `message`",
    "title": "titles for people, besides names",
    "meta_on_prompts": "`_meta` on prompts and content",
    "resource_link": "links to resources in messages",
    "completion_context": "completion knows the other arguments (`context`)",
    "icons": "icons of prompts and implementations",
    "error_id_omitted": "an error about a message without a readable id has no `id`, instead of null",
    "result_type": "results say what they are (`resultType`)",
    "cache_hints": "lists say how long they are fresh and for whom (`ttlMs`, `cacheScope`)",
    "input_required": "a result may ask for input first (multi round-trip requests)",
}

BY_ERA = {
    "how a revision is agreed on": ("`initialize`, once", "`server/discover`, and `_meta` of every request"),
    "how changes are announced": ("pushed in the session", "on a `subscriptions/listen` stream"),
    "requests of the server": ("allowed", "none; it asks for input in its answer"),
    "`ping`": ("yes", "no"),
}


# --- states -------------------------------------------------------------------------------------------


def diagram(table: Table[Any, Any]) -> Iterator[str]:
    """The lines of a Mermaid state diagram; transitions between the same two states share an arrow."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for (before, event), after in table.rows.items():
        arrows.setdefault((before.name, after.name), []).append(event.value)
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield from (f'    state "{state.value}" as {state.name}' for state in type(table.start))
    yield f"    [*] --> {table.start.name}"
    yield from (
        f"    {before} --> {after}: {', '.join(events)}" for (before, after), events in arrows.items()
    )
    yield "```"


def states() -> str:
    """The text of states.md."""
    parts = [NOTE, STATES]
    for table in (*TABLES, EXCHANGE, VISIT):
        parts.append(f"## {table.name.capitalize()}\n\n{table.about}\n")
        parts.append("\n".join(diagram(table)) + "\n")
    return "\n".join(parts)


# --- features -----------------------------------------------------------------------------------------


def features() -> str:
    """The text of features.md."""
    by_name = [
        row(f"{ABOUT[feature]}", *("✓" if supports(v, feature) else "" for v in ALL_VERSIONS))
        for feature in FEATURES
    ]
    eras = [era_of(version) for version in ALL_VERSIONS]
    by_era = [
        row(what, *((legacy if era is Era.LEGACY else modern) for era in (Era.LEGACY, Era.MODERN)))
        for what, (legacy, modern) in BY_ERA.items()
    ]
    names = [", ".join(v for v, of in zip(ALL_VERSIONS, eras, strict=True) if of is era) for era in Era]
    return "\n".join(
        [
            NOTE,
            FEATURES_HEAD,
            *heading("", *ALL_VERSIONS),
            *by_name,
            "",
            "The two eras differ in more than fields:",
            "",
            *heading("", *(f"{era.value}: {those}" for era, those in zip(Era, names, strict=True))),
            *by_era,
            "",
            "Members that came later than the value they belong to, and are left out before:",
            "",
            *later_members(),
            "",
        ]
    )


def row(*cells: str) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |".replace("  ", " ")


def heading(*cells: str) -> tuple[str, str]:
    """The first two lines of a table."""
    return row(*cells), "|" + "---|" * len(cells)


def later_members() -> Iterator[str]:
    """The table of members that are younger than their value."""
    found: dict[str, dict[str, list[str]]] = {}
    classes = [cls for cls in vars(_types).values() if isinstance(cls, type) and attrs.has(cls)]
    for cls in classes:
        for field in attrs.fields(cls):
            since = field.metadata.get("since", ALL_VERSIONS[0])
            if since > getattr(cls, "since", ALL_VERSIONS[0]):
                found.setdefault(cls.__name__, {}).setdefault(since, []).append(f"`{field.name}`")
    versions = sorted({version for of_class in found.values() for version in of_class})
    yield from heading("", *(f"since {version}" for version in versions))
    for name, of_class in found.items():
        yield row(f"`{name}`", *(", ".join(of_class.get(version, ())) for version in versions))


# --- rooms --------------------------------------------------------------------------------------------

STOREYS = {
    "The seams": ("_contract", "_layers", "_events", "_errors", "_checks", "_passing"),
    "What is recorded": ("_trace", "_reports"),
    "Wires": (
        *("_line_wire", "_lines", "_http_client", "_http_errands", "_http_reply", "_http_server"),
        *("_http_exchange", "_http_sessions", "_http_rules", "_sse"),
        *("h11", "_h11_server", "_h11_visit", "_h11_client", "_h11_pool", "_url"),
    ),
    "Endpoints": ("_machine", "_timers", "_tables", "_calls", "_coalescer", "_input"),
    "The client": (
        *("_client", "_client_config", "_negotiation", "_welcome", "_outbox"),
        *("_subscription", "_rounds", "_incoming"),
        *("_list_layer", "_listing", "_waiters", "_snapshot", "_memory"),
        *("_commands", "_paging", "_prompt_client"),
    ),
    "The server": (
        *("_server", "_server_config", "_stream", "_routing", "_debts", "_topics"),
        *("_prompt_server", "_catalogue", "_entry", "_signature", "_docstring", "_conversion"),
        *("_content", "_sealing", "_request_state"),
    ),
    "Values and codec": ("_types", "_versions", "_json", "_plain", "_meta", "_structure", "_shapes"),
}


def rooms() -> str:
    """The tables of modules, by storey; one that is in no storey comes last."""
    files = {file.stem: file for file in sorted(CORE.glob("_*.py")) if not file.stem.startswith("__")}
    del files["_version"]
    placed = {stem: storey for storey, stems in STOREYS.items() for stem in stems}
    others = tuple(stem for stem in files if stem not in placed)
    parts = []
    for storey, stems in {**STOREYS, **({"Others": others} if others else {})}.items():
        lines = [row(f"`{stem}`", first_sentence(files[stem])) for stem in stems if stem in files]
        parts += ["\n".join([*heading(storey, ""), *lines]), ""]
    return "\n".join(parts)


def first_sentence(file: Path) -> str:
    """How a module begins."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return re.split(r"\.(?:\s|$)", " ".join(text.split("\n\n")[0].split()))[0]


def architecture() -> str:
    """The text of architecture.md, its rooms written anew."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    before, rest = text.split("<!-- rooms: written by docs/generate.py -->\n")
    _, after = rest.split("<!-- /rooms -->")
    return f"{before}<!-- rooms: written by docs/generate.py -->\n\n{rooms()}\n<!-- /rooms -->{after}"


# --- simulation ---------------------------------------------------------------------------------------

SPECIFICATION = "https://modelcontextprotocol.io/specification/2026-07-28/"

PROPERTIES_HEAD = """\
# Properties

What must hold in every conversation, whatever goes wrong, and what can go wrong: the checkers, faults and
situations of [the simulation](simulation.md). A MUST or SHOULD is the specification's; what is marked
*library* is what only this library promises. Each checker is a class of `mcp_sansio.simulation`, and works
on a live world, a trace and a recording alike.
"""

CHAPTERS = {"C": "Clients", "S": "Servers", "L": "Liveness"}


def properties() -> str:
    """The text of properties.md."""
    parts = [NOTE, PROPERTIES_HEAD]
    for letter, chapter in CHAPTERS.items():
        rows = [property_row(check) for check in PROPERTIES if check.id[0] == letter]
        parts.append("\n".join([f"## {chapter}\n", *heading("", "property", "level", "from"), *rows, ""]))
    faults = [
        row(f"`{fault.name}`", fault.family, fault.about) for fault in (*STREAM, *EXCHANGES, *STRIKES, *PEER)
    ]
    parts.append("\n".join(["## Faults\n", *heading("fault", "of a", "what happens"), *faults, ""]))
    reached = [f"- {situation.value}" for situation in Situation]
    parts.append(
        "\n".join(["## Situations\n", "A campaign fails that has not reached all of these.\n", *reached, ""])
    )
    return "\n".join(parts)


def property_row(check: type[Checker]) -> str:
    """A line for one property."""
    about = " ".join(inspect.cleandoc(check.__doc__ or "").split())
    page = check.anchor.partition("#")[0]
    return row(check.id, about, check.level.value, f"[{page}]({SPECIFICATION}{check.anchor})")


# --- command ------------------------------------------------------------------------------------------

GENERATED = {
    "states.md": states,
    "features.md": features,
    "architecture.md": architecture,
    "properties.md": properties,
}


def stale() -> list[str]:
    """The files that are not what would be written."""
    return [name for name, write in GENERATED.items() if _read(DOCS / name) != write()]


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


def main(arguments: list[str]) -> str | None:
    """Check or write; a sentence if the check fails."""
    if "--check" in arguments:
        return f"run docs/generate.py: stale are {', '.join(stale())}" if stale() else None
    for name, write in GENERATED.items():
        (DOCS / name).write_text(write(), encoding="utf-8")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
