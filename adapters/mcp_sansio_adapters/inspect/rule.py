"""What a rule is, what it finds, and how a conversation is judged by many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias

import attrs

from mcp_sansio import ALL_VERSIONS, Era
from mcp_sansio._versions import at_least

from .conversation import Carrier, Conversation

Level: TypeAlias = Literal["MUST", "SHOULD"]
Evidence: TypeAlias = bytes | str
Judge: TypeAlias = Callable[[Conversation], Iterator[Evidence]]
"""Gives a piece of evidence for each time that the rule was broken."""

NEW, OLD = "2026-07-28", "2025-11-25"
"""The revisions that most rules quote."""
SITE = "https://modelcontextprotocol.io/specification/"
LONGEST = 300
"""How many characters of evidence are shown."""


@attrs.frozen
class Rule:
    """One rule. `text` says what a server does that breaks it; `quote` is the sentence of the specification
    that says so, on `page` of a revision. It holds in one era or both, `since` a revision or in `only` one,
    for one carrier or both.
    """

    id: str
    level: Level
    text: str
    page: str
    quote: str
    judge: Judge
    era: Era | None = None
    since: str | None = None
    only: str | None = None
    carrier: Carrier | None = None

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions that it holds in."""
        carrier: Carrier = self.carrier or "stdio"
        return tuple(each for each in ALL_VERSIONS if self.holds(Conversation((), carrier, each)))

    @property
    def row(self) -> str:
        """The rule in a table for people."""
        first, last = self.revisions[0], self.revisions[-1]
        revisions = first if first == last else f"{first} to {last}"
        where = "" if self.carrier is None else f", {self.carrier}"
        return f"| `{self.id}` | {self.level} | {revisions}{where} | {self.text} |"

    @property
    def url(self) -> str:
        """Where the sentence stands."""
        return SITE + self.page

    def holds(self, conversation: Conversation) -> bool:
        """Whether the rule says anything about this conversation."""
        version = conversation.version
        return (
            version is not None
            and self.era in (None, conversation.era)
            and self.carrier in (None, conversation.carrier)
            and (self.since is None or at_least(version, self.since))
            and self.only in (None, version)
        )


@attrs.frozen
class Finding:
    """A rule that was broken: the first evidence, and how often."""

    rule: Rule
    evidence: str
    times: int


def judged(rules: Iterable[Rule], conversations: Iterable[Conversation]) -> tuple[Finding, ...]:
    """What is wrong, in the order of the rules."""
    heard = tuple(conversations)
    found = (
        (rule, [cut(each) for talk in heard if rule.holds(talk) for each in rule.judge(talk)])
        for rule in rules
    )
    return tuple(Finding(rule, evidence[0], len(evidence)) for rule, evidence in found if evidence)


def cut(evidence: Evidence) -> str:
    """Evidence as text of bearable length."""
    text = evidence if isinstance(evidence, str) else evidence.decode(errors="backslashreplace")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
