"""`mcp-sansio simulate` and `trace`: what they print where, what they write, and their exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_sansio._trace import Trace
from mcp_sansio.simulation import PROPERTIES, TORTURE, run_seed
from mcp_sansio_adapters._campaign import NoScenario, explore, find_scenario
from mcp_sansio_adapters.cli import app

DIRTY = "simulated_variants:DIRTY"
TESTS = Path(__file__).parent


class Ran:
    """What came of a command line in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> None:
        capsys.readouterr()
        self.code = app.run([str(argument) for argument in arguments])
        self.out, self.err = capsys.readouterr()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which a failure was written down, by a process of its own."""
    directory = tmp_path_factory.mktemp("kept") / "out"
    command = [sys.executable, "-m", "mcp_sansio_adapters", "simulate", "--seed", "114"]
    ran = subprocess.run(
        [*command, "--scenario", DIRTY, "--out", str(directory)],
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(TESTS)])},
    )
    (directory / "stdout").write_text(ran.stdout, encoding="utf-8")
    (directory / "stderr").write_text(ran.stderr, encoding="utf-8")
    assert ran.returncode == 1
    return directory


@pytest.fixture
def small(kept: Path) -> Path:
    """The trace of the failure, made small."""
    return kept / "trace_c1_114.jsonl"


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    """A trace in which everything holds."""
    file = tmp_path / "healthy.jsonl"
    file.write_bytes(b"".join(line + b"\n" for line in run_seed(TORTURE, 1).trace.lines()))
    return file


# --- simulate -----------------------------------------------------------------------------------------


def test_a_failure_is_one_line_in_a_pipe(kept: Path) -> None:
    *situations, line = (kept / "stdout").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r" +\d+  \w.*", situation) for situation in situations)
    seed, broken, messages, _ = line.split(" · ")
    assert (seed, broken[:25]) == ("seed 114", "C1 read your notification")
    assert re.fullmatch(r"\d+→\d+ messages in \d+\.\d s", messages)
    assert (kept / "stderr").read_text(encoding="utf-8").count("\n") == 1


def test_a_failure_is_written_down(kept: Path, small: Path) -> None:
    names = {file.name for file in kept.iterdir()} - {"stdout", "stderr"}
    assert names == {
        "trace_c1_114.jsonl",
        "story_c1_114.mmd",
        "story_c1_114.html",
        "test_regression_c1_114.py",
    }
    with small.open("rb") as file:
        trace = Trace.parse(file)
    assert trace.header.scenario == DIRTY
    assert (
        sum(event.kind == "in" for event in trace) < 63
    )  # what it was; how small it gets is up to the machine
    assert (kept / "story_c1_114.mmd").read_text(encoding="utf-8").startswith("sequenceDiagram")
    assert (kept / "story_c1_114.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert f"from {DIRTY.partition(':')[0]} import" in (kept / "test_regression_c1_114.py").read_text("utf-8")


def test_a_clean_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "simulate", "--seeds", "3", "--jobs", "1")
    assert ran.code == 0
    assert re.fullmatch(r"mcp-sansio: 3 worlds, \d+ messages, \d+ worlds a second: all held\n", ran.err)


def test_the_digest_is_that_of_all_traces(capsys: pytest.CaptureFixture[str]) -> None:
    digests = [
        Ran(capsys, "simulate", "--seeds", seeds, "--digest", "--json").json["digest"] for seeds in "221"
    ]
    assert digests[0] == digests[1] != digests[2]


def test_the_story_is_told_if_it_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "simulate", "--seed", "114", "--scenario", DIRTY)
    assert ran.code == 1
    assert re.search(r"^ +\d+\.\d{3}  c1 → s1    \[\d\] prompts/list$", ran.out, re.MULTILINE)
    assert " ✗ " in ran.out
    assert "--out DIR" in ran.err


def test_a_failure_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran = Ran(capsys, "simulate", "--seeds", "114-115", "--scenario", DIRTY, "--json", "--out", tmp_path)
    assert ran.code == 1
    assert ran.json["seeds"] == [114, 115]
    (failure,) = ran.json["failures"]
    assert (failure["property"], failure["level"], failure["seeds"][0]) == ("C1", "MUST", 114)
    assert failure["messages"]["after"] < failure["messages"]["before"]  # how small is up to the machine
    assert all(Path(file).exists() for file in failure["files"])
    assert failure["needed"]


@pytest.mark.parametrize(
    ("arguments", "seeds"),
    [
        (("--seed", "5"), [5, 5]),
        (("--seed", "5", "--seeds", "2"), [5, 6]),
        (("--seeds", "7-8"), [7, 8]),
        (("--commit", "00000000000a1234"), [10, 1009]),
        (("--commit", "0a" * 20, "--seeds", "1"), [0x0A0A0A0A0A0A, 0x0A0A0A0A0A0A]),
        ((), [0, 999]),
    ],
)
def test_which_seeds_are_meant(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    seeds: list[int],
) -> None:
    monkeypatch.setattr("mcp_sansio_adapters.cli.simulate.explore", lambda *_, **__: ())
    assert Ran(capsys, "simulate", *arguments, "--json").json["seeds"] == seeds


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--seeds", "x"), "neither a number of seeds nor a range"),
        (("--seeds", "0"), "no seeds"),
        (("--seeds", "9-5"), "no seeds"),
        (("--seed", "1", "--commit", "ab"), "--seed and --commit both say"),
        (("--seeds", "1-2", "--seed", "1"), "--seed and --seeds A-B both say"),
        (("--commit", "xyz"), "no commit hash"),
        (("--scenario", "nothing"), "one of torture, office-hour"),
        (("--scenario", "no.such.module:X"), "No module named"),
        (("--scenario", "simulated_variants:NOBODY"), "has no scenario NOBODY"),
    ],
)
def test_the_command_line_is_wrong(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    ran = Ran(capsys, "simulate", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


@pytest.mark.slow
def test_many_processes_find_the_same() -> None:
    alone = [*explore("torture", range(20), digest=True)]
    assert [*explore("torture", range(20), jobs=2, digest=True)] == alone


def test_every_standard_scenario_is_there() -> None:
    names = ("torture", "office-hour", "torture-http", "office-hour-http")
    assert [find_scenario(name).name for name in names] == [*names]


def test_a_scenario_is_one() -> None:
    with pytest.raises(NoScenario, match="has no scenario PROPERTIES"):
        find_scenario("mcp_sansio.simulation:PROPERTIES")


# --- trace --------------------------------------------------------------------------------------------


def test_check_says_what_holds(capsys: pytest.CaptureFixture[str], healthy: Path) -> None:
    ran = Ran(capsys, "trace", "check", healthy)
    assert ran.code == 0
    lines = [line for line in ran.out.splitlines() if not line.startswith(" ")]
    assert [line.split()[0] for line in lines] == [checker.id for checker in PROPERTIES]
    assert "BROKEN" not in ran.out
    assert "      not judged: no server that was told to close\n" in ran.out


def test_check_says_what_is_broken(capsys: pytest.CaptureFixture[str], small: Path) -> None:
    ran = Ran(capsys, "trace", "check", small)
    assert ran.code == 1
    assert re.search(r"^C1 .* MUST .* BROKEN  read your notifications .* server/utilities/caching#", ran.out)
    assert "is called fresh after" in ran.out.splitlines()[1]
    assert "1 broken" in ran.err


def test_check_as_json(capsys: pytest.CaptureFixture[str], small: Path) -> None:
    ran = Ran(capsys, "trace", "check", small, "--json")
    assert ran.code == 1
    first, second, *_ = ran.json["properties"]
    assert (first["id"], first["level"], first["held"]) == ("C1", "MUST", False)
    assert first["text"]
    assert second["held"]
    closing = next(each for each in ran.json["properties"] if each["id"] == "S12")
    assert (closing["judged"], closing["missing"]) == (False, "no server that was told to close")


@pytest.mark.parametrize("form", ["text", "mermaid", "html"])
def test_render(capsys: pytest.CaptureFixture[str], small: Path, tmp_path: Path, form: str) -> None:
    printed = Ran(capsys, "trace", "render", small, "--format", form)
    output = tmp_path / "story"
    written = Ran(capsys, "trace", "render", small, "--format", form, "--output", output)
    assert (printed.code, written.code, written.out) == (0, 0, "")
    assert printed.out == output.read_text(encoding="utf-8")
    assert "prompts/list" in printed.out


def test_replay_finds_the_same(capsys: pytest.CaptureFixture[str], small: Path, healthy: Path) -> None:
    for file in (small, healthy):
        ran = Ran(capsys, "trace", "replay", file)
        assert (ran.code, ran.out[:10]) == (0, "the same: ")


def test_replay_without_the_mistake_goes_another_way(capsys: pytest.CaptureFixture[str], small: Path) -> None:
    ran = Ran(capsys, "trace", "replay", small, "--scenario", "torture")
    assert ran.code == 1
    assert ran.out.startswith("another way: ")


def test_replay_names_the_first_difference(capsys: pytest.CaptureFixture[str], healthy: Path) -> None:
    lines = healthy.read_bytes().splitlines(keepends=True)
    healthy.write_bytes(b"".join([*lines[:-1]]))
    ran = Ran(capsys, "trace", "replay", healthy)
    assert (ran.code, "events, and are" in ran.out) == (1, True)
    healthy.write_bytes(b"".join([lines[0], lines[1].replace(b"s1", b"s9"), *lines[2:]]))
    ran = Ran(capsys, "trace", "replay", healthy)
    assert (ran.code, ran.out.startswith("another way: event 0 was ")) == (1, True)


def test_shrink(capsys: pytest.CaptureFixture[str], small: Path, tmp_path: Path) -> None:
    told = Ran(capsys, "trace", "shrink", small)
    assert (told.code, told.out.startswith("tape · C1 ")) == (0, True)
    assert "prompts/list" in told.out
    written = Ran(capsys, "trace", "shrink", small, "--seconds", "1", "--out", tmp_path / "out")
    assert (tmp_path / "out" / "trace_c1_tape.jsonl").exists()
    assert "trace_c1_tape.jsonl" in written.out


def test_what_holds_is_not_shrunk(capsys: pytest.CaptureFixture[str], healthy: Path) -> None:
    ran = Ran(capsys, "trace", "shrink", healthy)
    assert (ran.code, "nothing to shrink" in ran.err) == (2, True)


def test_the_client_of_a_recording_does_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    recorded = Path(__file__).parent / "recordings" / "modern-client.jsonl"
    ran = Ran(capsys, "trace", "replay", recorded)
    assert (ran.code, ran.out) == (0, "client-1: the same\n")
    file = tmp_path / "another.jsonl"
    file.write_bytes(recorded.read_bytes().replace(b"server/discover", b"server/discovers"))
    ran = Ran(capsys, "trace", "replay", file)
    assert (ran.code, ran.out.startswith("client-1: another way: event ")) == (1, True)


def test_a_recording_has_no_tape(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    file.write_bytes(b"".join(line + b"\n" for line in Trace().lines()))
    ran = Ran(capsys, "trace", "replay", file)
    assert (ran.code, "has no tape to replay" in ran.err) == (2, True)


def test_a_scenario_that_is_not_there(capsys: pytest.CaptureFixture[str], small: Path) -> None:
    small.write_text(small.read_text("utf-8").replace(DIRTY, "gone:NAME", 1), encoding="utf-8")
    ran = Ran(capsys, "trace", "replay", small)
    small.write_text(small.read_text("utf-8").replace("gone:NAME", DIRTY, 1), encoding="utf-8")
    assert (ran.code, "--scenario says where it is" in ran.err) == (2, True)


@pytest.mark.parametrize(("content", "said"), [(b"x\n", "is no trace: line 1"), (None, "No such file")])
def test_what_is_no_trace(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    ran = Ran(capsys, "trace", "check", tmp_path / "file")
    assert (ran.code, said in ran.err) == (2, True)
