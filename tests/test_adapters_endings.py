"""How connections of clients end, and what servers may do on the way there, on every front end."""

import os
from pathlib import Path

import pytest
from fronts import (
    FRONTS,
    Command,
    Front,
    announced,
    front_name,
    our_server,
    text,
)
from live import raw_server

from mcp_sansio import (
    ClientConfig,
    Diagnostic,
    Event,
    Implementation,
)
from mcp_sansio_adapters import (
    ConnectionFailed,
    ProcessPolicy,
)

pytestmark = [pytest.mark.live, pytest.mark.parametrize("front", FRONTS, ids=front_name)]

INFO = Implementation("test", "1")
MODERN = ClientConfig(info=INFO, versions=("2026-07-28",), backoff=0.01)
LEGACY = ClientConfig(info=INFO, versions=("2025-11-25",), backoff=0.01)
ONCE = ProcessPolicy(restarts=0)


@pytest.mark.parametrize(
    ("command", "code", "tail"),
    [
        (raw_server(exit_at=0, exit_code=3, stderr=128), 3, "x" * 63),
        (raw_server(exit_at=1, exit_code=4), 4, ""),
        (("sh", "-c", "echo killed by itself >&2; kill -KILL $$"), -9, "killed by itself"),
    ],
)
def test_a_server_that_dies_before_it_has_introduced_itself(
    front: Front, command: Command, code: int, tail: str
) -> None:
    async def scenario(front: Front) -> None:
        with pytest.raises(ConnectionFailed, match="exited") as failed:
            async with front.open_stdio_client(command):
                raise AssertionError("entered")
        assert failed.value.exit_code == code
        assert tail in failed.value.stderr_tail
        assert tail in str(failed.value)

    front.run(scenario)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (("no-such-command-anywhere",), "No such file"),
        ((__file__,), "Permission denied"),
        ((), "empty"),
        (("a\0b",), "null byte"),
    ],
)
def test_a_command_that_cannot_be_started(front: Front, command: Command, reason: str) -> None:
    async def scenario(front: Front) -> None:
        with pytest.raises(ConnectionFailed, match=reason) as failed:
            async with front.open_stdio_client(command):
                raise AssertionError("entered")
        assert failed.value.exit_code is None

    front.run(scenario)


def test_no_common_version_is_a_failure_to_connect(front: Front) -> None:
    async def scenario(front: Front) -> None:
        with pytest.raises(ConnectionFailed, match="1999-01-01") as failed:
            async with front.open_stdio_client(raw_server(legacy=True, revision="1999-01-01")):
                raise AssertionError("entered")
        assert failed.value.exit_code == 0

    front.run(scenario)


def test_a_server_that_dies_on_a_request_fails_it_with_exit_code_and_stderr(front: Front) -> None:
    async def scenario(front: Front) -> None:
        async with front.open_stdio_client(our_server(), policy=ONCE) as client:
            changes = client.changes()
            with pytest.raises(ConnectionFailed, match="about to exit") as failed:
                await client.get_prompt("exit", {"code": "5"})
            assert (failed.value.exit_code, failed.value.stderr_tail) == (5, "about to exit\n")
            with pytest.raises(ConnectionFailed, match="exit code 5"):
                await client.list_prompts()
            with pytest.raises(ConnectionFailed, match="exit code 5"):
                await client.notify("notifications/test")
            with pytest.raises(ConnectionFailed, match="exit code 5"):
                await anext(changes)

    front.run(scenario)


def test_a_server_that_closes_its_output_is_ended(front: Front) -> None:
    async def scenario(front: Front) -> None:
        command = raw_server(close_at=3, ignore_eof=True)
        policy = ProcessPolicy(restarts=0, close_grace=0.05)
        async with front.open_stdio_client(command, config=MODERN, policy=policy) as client:
            with pytest.raises(ConnectionFailed, match="end of input") as failed:
                await client.list_prompts()
            assert failed.value.exit_code == -15

    front.run(scenario)


def test_a_server_that_closes_its_input_is_ended(front: Front) -> None:
    discovered = '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"prompts":{}}}'
    answer = f'{{"jsonrpc":"2.0","id":1,"result":{discovered}}}'
    command = ("sh", "-c", 'read line; exec <&-; echo "$0"; sleep 1000', answer)

    async def scenario(front: Front) -> None:
        policy = ProcessPolicy(restarts=0, close_grace=0.05)
        async with front.open_stdio_client(command, policy=policy) as client:
            with pytest.raises(ConnectionFailed, match="Broken pipe"):
                await client.list_prompts()

    front.run(scenario)


@pytest.mark.parametrize("config", [MODERN, LEGACY], ids=["modern", "legacy"])
def test_a_server_that_dies_is_started_again_listed_again_and_listened_to_again(
    front: Front, config: ClientConfig
) -> None:
    async def scenario(front: Front) -> None:
        async with front.open_stdio_client(our_server(), config=config) as client:
            changes = client.changes()
            first = await client.list_prompts()
            await anext(changes)
            pid = text(await client.get_prompt("pid"))
            with pytest.raises(ConnectionFailed, match="exit code 5"):
                await client.request("prompts/get", {"name": "exit", "arguments": {"code": "5"}})
            second = await client.list_prompts()
            assert second.epoch > first.epoch
            assert text(await client.get_prompt("pid")) != pid
            await client.get_prompt("add", {"name": "new"})
            assert (await anext(changes)).added == ("new",)

    front.run(scenario)


def test_restarts_are_bounded(front: Front) -> None:
    async def scenario(front: Front) -> None:
        policy = ProcessPolicy(restarts=2)
        async with front.open_stdio_client(our_server(), config=MODERN, policy=policy) as client:
            for _ in range(2):
                with pytest.raises(ConnectionFailed):
                    await client.request("prompts/get", {"name": "exit", "arguments": {"code": "5"}})
                await client.get_prompt("pid")
            # A get is sent once more by itself, and is what the last restart would have been for.
            with pytest.raises(ConnectionFailed):
                await client.get_prompt("exit", {"code": "6"})
            with pytest.raises(ConnectionFailed, match="exit code 6"):
                await client.get_prompt("pid")

    front.run(scenario)


def test_a_server_that_ignores_everything_is_killed_with_what_it_started(front: Front) -> None:
    heard: list[bytes] = []
    command = announced(raw_server(ignore_eof=True, ignore_sigterm=True))

    async def scenario(front: Front) -> None:
        policy = ProcessPolicy(close_grace=0.05, term_grace=0.05)
        async with front.open_stdio_client(command, policy=policy, on_stderr=heard.append) as client:
            await client.list_prompts()
        pid = int(b"".join(heard))
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    front.run(scenario)


def test_something_that_the_server_leaves_behind_is_killed(front: Front, tmp_path: Path) -> None:
    fifo = tmp_path / "held by the grandchild"
    os.mkfifo(fifo)
    alive = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(alive, True)
    command = ("sh", "-c", 'sleep 1000 3>"$0" & exec "$@"', str(fifo), *raw_server())

    async def scenario(front: Front) -> None:
        policy = ProcessPolicy(close_grace=0.05)
        async with front.open_stdio_client(command, policy=policy) as client:
            await client.list_prompts()

    front.run(scenario)
    assert os.read(alive, 1) == b""  # the end comes with the death of the last who holds it
    os.close(alive)


# --- what servers do beside the protocol ---


def test_noise_before_the_first_answer_does_no_harm(front: Front) -> None:
    events: list[Event] = []

    async def scenario(front: Front) -> None:
        command = raw_server(banner="Welcome!", stderr=262144)
        async with front.open_stdio_client(command, on_event=events.append) as client:
            assert len(await client.list_prompts()) == 30
        odd = [event for event in events if isinstance(event, Diagnostic)]
        assert [event.data for event in odd] == [b"Welcome!"]

    front.run(scenario)


def test_stderr_without_newlines_is_kept_in_bounded_memory(front: Front) -> None:
    heard: list[int] = []

    async def scenario(front: Front) -> None:
        command = raw_server(stderr=10 * 1024 * 1024, unbroken=True, exit_at=0, exit_code=1)
        with pytest.raises(ConnectionFailed) as failed:
            async with front.open_stdio_client(command, on_stderr=lambda data: heard.append(len(data))):
                raise AssertionError("entered")
        assert failed.value.stderr_tail == "x" * 65536
        assert sum(heard) == 10 * 1024 * 1024
        assert len(str(failed.value)) < 3000

    front.run(scenario)


def test_environment_and_directory_are_those_asked_for(front: Front, tmp_path: Path) -> None:
    command = ("/bin/sh", "-c", 'pwd >&2; echo "$GREETING" >&2; exit 1')

    async def scenario(front: Front) -> None:
        with pytest.raises(ConnectionFailed) as failed:
            async with front.open_stdio_client(command, env={"GREETING": "hello"}, cwd=tmp_path):
                raise AssertionError("entered")
        assert failed.value.stderr_tail == f"{tmp_path}\nhello\n"

    front.run(scenario)


def test_a_long_line_goes_both_ways(front: Front) -> None:
    async def scenario(front: Front) -> None:
        async with front.open_stdio_client(our_server()) as client:
            long = "é" * 4_000_000
            assert text(await client.get_prompt("hello", {"topic": long})) == f"{long}, calm"

    front.run(scenario)
