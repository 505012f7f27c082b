"""The command `check`: a line for each problem, where an editor can jump to, and an exit code for CI."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_cli import Fails, fails

from mcp_sansio_adapters.cli import app

__all__ = ["fails"]

Capture = pytest.CaptureFixture[str]

CLEAN = "---\narguments: [diff]\n---\nReview {{diff}}\n"
WARNED = "---\narguments: [diff]\n---\nReview {{diff}}\nand {{dif}}\n"
BROKEN = "---\nname: yes\ndescription: Reviews\ntitle: 007\n---\nReview\n\nwith {{care}}\n"


def write(root: Path, **files: str) -> Path:
    """Write files; `a__b` is the file b.md in the folder a."""
    for name, text in files.items():
        path = root / (name.replace("__", "/") + ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def check(capsys: Capture, *arguments: str) -> tuple[int, list[str], str]:
    """The exit code of a check, the lines on stdout, and what the one on stderr says."""
    code = app.run(["check", *arguments])
    out, errors = capsys.readouterr()
    (line,) = errors.splitlines()
    return code, out.splitlines(), line.removeprefix("mcp-sansio: ")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_clean_folder_is_a_summary_and_nothing_else(here: Path, capsys: Capture) -> None:
    write(here, p__a=CLEAN, p__b="Hello")
    assert check(capsys, "p") == (0, [], "2 prompts, 0 errors, 0 warnings")
    assert check(capsys, "p", "--strict") == (0, [], "2 prompts, 0 errors, 0 warnings")


def test_warnings_are_allowed_unless_they_are_not(here: Path, capsys: Capture) -> None:
    write(here, p__a=WARNED)
    lines = ["p/a.md:5: warning: {{dif}} names no declared argument, so left as it is"]
    assert check(capsys, "p") == (0, lines, "1 prompt, 0 errors, 1 warning")
    assert check(capsys, "p", "--strict") == (1, lines, "1 prompt, 0 errors, 1 warning")


def test_errors_fail_and_every_problem_has_its_line_in_order(here: Path, capsys: Capture) -> None:
    write(here, p__z="", p__b=WARNED, p__sub__a=BROKEN, p__a=CLEAN)
    assert check(capsys, "p") == (
        1,
        [
            "p/b.md:5: warning: {{dif}} names no declared argument, so left as it is",
            "p/sub/a.md:2: error: name: must be text, but YAML reads a bool: put it in 'single quotes'",
            "p/sub/a.md:4: error: title: must be text, but YAML reads a int: put it in 'single quotes'",
            "p/sub/a.md:8: warning: {{care}} names no declared argument, so left as it is",
            "p/z.md:1: error: there is no text for the prompt, only front matter or nothing",
        ],
        "3 prompts, 3 errors, 2 warnings",
    )


def test_lines_are_sorted_as_numbers(here: Path, capsys: Capture) -> None:
    write(here, p__a="\n".join(f"{{{{x{number}}}}}" for number in range(12)))
    _, lines, _ = check(capsys, "p")
    assert [line.split(":")[1] for line in lines] == [str(number + 1) for number in range(12)]


@pytest.mark.parametrize(
    ("folder", "path"), [("..", "../b.md"), ("../../p", "../b.md"), (".", ""), ("../sub", "")]
)
def test_paths_lead_from_the_current_directory(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, folder: str, path: str
) -> None:
    write(here, p__b="", p__sub__a="")
    monkeypatch.chdir(here / "p" / "sub")
    _, lines, _ = check(capsys, folder)
    assert [line.partition(":")[0] for line in lines] == [*([path] if path else []), "a.md"]


def test_an_absolute_folder_makes_no_absolute_paths(here: Path, capsys: Capture) -> None:
    write(here, p__b="")
    _, (line,), _ = check(capsys, str(here / "p"))
    assert line.startswith("p/b.md:1: error: ")


def test_json_has_the_same_in_the_same_order(here: Path, capsys: Capture) -> None:
    write(here, p__z="", p__sub__a=BROKEN)
    (here / "p" / "gone.md").symlink_to(here / "elsewhere.md")
    (here / "elsewhere.md").write_text("S")
    code, (line,), summary = check(capsys, "p", "--json")
    assert (code, summary) == (1, "1 prompt, 4 errors, 1 warning")
    assert json.loads(line) == {
        "prompts": 1,
        "problems": [
            {
                "path": "p/gone.md",
                "severity": "error",
                "reason": "cannot be read: it is a link that leaves the folder",
            },
            {
                "path": "p/sub/a.md",
                "line": 2,
                "severity": "error",
                "reason": "name: must be text, but YAML reads a bool: put it in 'single quotes'",
            },
            {
                "path": "p/sub/a.md",
                "line": 4,
                "severity": "error",
                "reason": "title: must be text, but YAML reads a int: put it in 'single quotes'",
            },
            {
                "path": "p/sub/a.md",
                "line": 8,
                "severity": "warning",
                "reason": "{{care}} names no declared argument, so left as it is",
            },
            {
                "path": "p/z.md",
                "line": 1,
                "severity": "error",
                "reason": "there is no text for the prompt, only front matter or nothing",
            },
        ],
    }


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--strict",), 1)])
def test_json_has_the_exit_codes_of_the_text(
    here: Path, capsys: Capture, options: tuple[str, ...], code: int
) -> None:
    write(here, p__a=WARNED)
    assert check(capsys, "p", "--json", *options)[0] == code


def test_a_problem_without_a_line_is_a_line_without_a_number(here: Path, capsys: Capture) -> None:
    write(here, p__a="A", elsewhere="S")
    (here / "p" / "b.md").symlink_to(here / "elsewhere.md")
    assert check(capsys, "p") == (
        1,
        ["p/b.md: error: cannot be read: it is a link that leaves the folder"],
        "1 prompt, 1 error, 0 warnings",
    )


def test_any_file_name_is_one_line_and_stays_itself_in_json(here: Path, capsys: Capture) -> None:
    root = write(here, p__a="A") / "p"
    name = os.fsdecode(b"new\nline \xff.md")
    (root / name).write_text("N")
    code, (line,), _ = check(capsys, "p")
    assert (code, line.partition(":")[0]) == (1, "p/new line \\udcff.md")
    _, (line,), _ = check(capsys, "p", "--json")
    assert json.loads(line)["problems"][0]["path"] == f"p/{name}"


@pytest.mark.usefixtures("here")
def test_an_empty_folder_is_clean(capsys: Capture) -> None:
    assert check(capsys, ".") == (0, [], "0 prompts, 0 errors, 0 warnings")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nowhere",), "does not exist"),
        (("a.md",), "is a file"),
        ((), "FOLDER"),
        ((".", "--", "x"), "`check` starts no server"),
    ],
)
def test_a_wrong_command_line_checks_nothing(
    here: Path, fails: Fails, arguments: tuple[str, ...], reason: str
) -> None:
    write(here, a="")
    assert reason in fails(2, "check", *arguments)


@pytest.mark.live
def test_a_server_says_the_same(here: Path) -> None:
    write(here, p__b=WARNED, p__sub__a=BROKEN)
    said = {
        command: subprocess.run(
            (sys.executable, "-m", "mcp_sansio_adapters", command, "p"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        for command in ("check", "serve")
    }
    checked, served = said["check"], said["serve"]
    assert (checked.returncode, served.returncode, served.stdout) == (1, 0, "")
    lines = [line.removeprefix("p/") for line in checked.stdout.splitlines()]
    bare = [line.replace(" error:", "", 1).replace(" warning:", "", 1) for line in lines]
    assert served.stderr.splitlines() == [f"mcp-sansio: {line}" for line in bare]
    assert len(bare) == 4
