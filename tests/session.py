"""One long session, for tests that compare sessions: the same every time, in any revision."""

from __future__ import annotations

import re

from pair import CLIENT, KEYS, World, catalogue, prompt

from mcp_sansio import AskInput, ClientConfig, InputNeeded, InputRequest, PromptServerConfig

QUESTION = InputRequest("elicitation/create", {"message": "wer? 名前", "requestedSchema": {}})
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def session(version: str) -> World:
    """List, render, ask, complete, edit, storm, lose and find again; the world as it is then."""
    prompts = catalogue(25)
    prompts.add(prompt("grüße", "who", optional=["how"]), lambda **given: f"Hello {given} \u2028 €")
    prompts.add(prompt("ask"), lambda: AskInput({"q": QUESTION}, {"n": 1}))
    world = World(
        prompts=prompts,
        client=ClientConfig(info=CLIENT, capabilities={"elicitation": {}}, versions=(version,)),
        serving=PromptServerConfig(keys=KEYS, page_size=10),
        latency=0.01,
    )
    world.outcome(world.prompts.list(world.now))
    world.outcome(world.prompts.get("grüße", {"who": "you", "how": "loud"}, world.now))
    world.outcome(world.prompts.complete("grüße", "who", "a", world.now))
    asking = world.prompts.get("ask", None, world.now)
    world.run(1.0)
    for needed in world.all(InputNeeded):
        world.client.provide_input(needed.call, {"q": {"action": "accept"}}, world.now)
    world.run(0.005)
    world.prompts.cancel(asking, world.now)
    for number in range(20):
        prompts.put(prompt("p0003", optional=[f"a{number}"]), lambda: "")
        world.run(0.02)
    prompts.remove("p0005")
    world.outcome(world.prompts.get("p0005", None, world.now))
    world.disconnect()
    world.connect()
    world.outcome(world.prompts.get("p0001", None, world.now))
    world.run(10.0)
    return world


def transcript(world: World) -> list[str]:
    """All that was said and reported at both ends, in a form that two runs can be compared in."""
    said = [repr(entry) for log in (world.sent, world.received) for entry in log]
    events = [repr(entry) for log in (world.events, world.server_events) for entry in log]
    return said + [ADDRESS.sub("", event) for event in events]
