"""Who is in the worlds that servers are tried in: probers, groups, and clients that have odd habits."""

from __future__ import annotations

from simulated import world

from mcp_sansio._client_config import ClientConfig
from mcp_sansio._prompt_server import PromptServerConfig
from mcp_sansio._server_config import ServerConfig
from mcp_sansio.simulation._group import Leader, ServerGroup
from mcp_sansio.simulation._node import Dial, Write
from mcp_sansio.simulation._scenarios import CLIENT, KEYS, SERVER
from mcp_sansio.simulation._server_node import ServerNode
from mcp_sansio.simulation._world import World
from mcp_sansio.simulation._zoo.liveness import POLL, Polling
from mcp_sansio.simulation._zoo.prober import Loot, Prober

CONFIG, SERVING = ServerConfig(info=SERVER), PromptServerConfig(keys=KEYS)
PAGE = b'{"jsonrpc":"2.0","id":1,"result":{"prompts":[],"nextCursor":"k"}}\n'


def group(lag: int) -> tuple[World, Leader, ServerNode]:
    """A leader and a follower that hears of everything `lag` 256ths of two seconds late."""
    made = world(("g2 lags", 257, lag))
    leader, follower = Leader(CONFIG, SERVING), ServerNode(CONFIG, SERVING)
    ServerGroup(made, "g", leader, [follower], 2.0)
    return made, leader, follower


def test_an_edit_reaches_the_follower_late() -> None:
    made, leader, follower = group(128)
    made.command("g1", "edit", put=[["a", "1"]])
    made.run(0.9)
    assert (leader.items, follower.items) == ([("a", "1")], [])
    made.settle(10)
    assert follower.items == [("a", "1")]
    assert [event.data[0] for event in made.trace if event.kind == "fault"] == ["replica-lag"]


def test_a_follower_that_is_down_gets_the_edit_later() -> None:
    made, _, follower = group(0)
    made.crash("g2")
    made.command("g1", "edit", put=[["a", "1"]])
    made.run(1.2)
    assert follower.items == []
    made.start("g2")
    made.settle(10)
    assert follower.items == [("a", "1")]


def test_who_is_told_to_close_closes_alone() -> None:
    made, leader, follower = group(0)
    made.command("g1", "close")
    assert (leader.accepting(), follower.accepting()) == (False, True)
    assert Leader(CONFIG, SERVING).group is None


def test_a_leader_without_a_group_is_a_server() -> None:
    made, alone = world(), Leader(CONFIG, SERVING)
    made.add("s", alone)
    made.command("s", "edit", put=[["a", "1"]])
    assert alone.items == [("a", "1")]


def probing(*choices: int) -> list[bytes]:
    """What a prober writes for some choices, once it has seen a cursor."""
    prober = Prober("s", Loot())
    prober.name = "p"
    prober.start(0.0)
    assert list(prober.actions(0.0, ())) == [Dial("p-1", "s")]
    prober.opened("p-1", 0.0)
    prober.command("probe", {"choice": 0}, 0.0)
    prober.receive("p-1", b"no message\n\xff\n" + PAGE[:20], 0.0)
    prober.receive("p-1", PAGE[20:] + PAGE, 0.0)
    for choice in choices:
        prober.command("probe", {"choice": choice}, 0.0)
    return [action.data for action in prober.actions(0.0, ()) if isinstance(action, Write)]


def test_a_prober_uses_what_it_has_seen() -> None:
    first, second, third = probing(1, 2)
    assert b"cursor" not in first
    assert b'"cursor":"k"' in second
    assert b'"cursor":"A"' in third


def test_a_prober_whose_connection_is_gone_dials_again() -> None:
    prober = Prober("s", Loot())
    prober.name = "p"
    prober.start(0.0)
    prober.closed("p-1", "reset", 0.0)
    prober.command("probe", {"choice": 0}, 0.0)
    assert list(prober.actions(0.0, ())) == [Dial("p-1", "s"), Dial("p-2", "s")]


def test_who_polls_does_nothing_before_it_is_time() -> None:
    node = Polling("s", ClientConfig(info=CLIENT))
    node.start(0.0)
    node.handle_timeout(POLL - 1)
    assert node.poll == POLL
    node.handle_timeout(POLL)
    assert node.poll == 2 * POLL
