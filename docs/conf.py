"""How Sphinx makes a site of these pages: `sphinx-build -W docs docs/_build`.

The pages are Markdown that reads well in a repository, too. What only the site has is the reference, which is
made from docstrings: they are prose with names in single backticks, each of which becomes a link if there
is something public of that name. Public names live in private modules, so a link to where something is
defined is led to where it is public.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import mcp_sansio
import mcp_sansio_adapters

if TYPE_CHECKING:
    from docutils.nodes import Element, TextElement
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

project = "mcp-sansio"
author = "The mcp-sansio authors"
version = release = mcp_sansio.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.mermaid"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"mcp-sansio {release}"
html_copy_source = False

myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]  # so that forges draw them, too

default_role = "py:obj"
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_display_short_literal_types = True
python_maximum_signature_line_length = 90

nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", ".*"),  # single backticks: names of the protocol are code as well
    ("py:class", r"mcp_sansio(_adapters)?\.(.*\.)?_.*"),
    ("py:class", r"(asyncio|collections|contextlib|datetime|enum|os|pathlib|socket|ssl|trio|types)\..*"),
    (
        "py:class",
        r"AbstractAsyncContextManager|HttpRequest|HttpService|tuple\[str",
    ),
    ("py:class", r"Arming|Family|Rule|StateKey|deque|msgspec\..*|.* .*"),
]

PACKAGES = (mcp_sansio, mcp_sansio_adapters)


@cache
def public_names() -> dict[str, str]:
    """Where each thing that is defined in a private module is public, by where it is defined."""
    found: dict[str, str] = {}
    for module in public_modules():
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            found.setdefault(f"{getattr(value, '__module__', '')}.{name}", f"{module.__name__}.{name}")
    return found


def public_modules() -> list[ModuleType]:
    """The modules without an underscore that say what is public in them."""
    names = [package.__name__ for package in PACKAGES]
    for package in PACKAGES:
        names += [f"{package.__name__}.{module.name}" for module in pkgutil.iter_modules(package.__path__)]
    modules = [importlib.import_module(name) for name in names if "._" not in name]
    return [module for module in modules if hasattr(module, "__all__")]


def public(value: type) -> bool:
    """Whether a class may be spoken of."""
    return f"{value.__module__}.{value.__name__}" in public_names()


@cache
def said_of_names() -> dict[str, str]:
    """What follows constants and aliases in the source: the docstring that Python throws away. Those that
    stand together share it.
    """
    found: dict[str, str] = {}
    for package in PACKAGES:
        for file in Path(str(package.__file__)).parent.rglob("*.py"):
            names: list[str] = []
            for statement in ast.parse(file.read_text(encoding="utf-8")).body:
                match statement:
                    case ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(target=ast.Name(name)):
                        names.append(name)
                    case ast.Expr(ast.Constant(str(text))):
                        found |= dict.fromkeys(names, text)
                        names = []
                    case _:
                        names = []
    return found


def tell_of_names(_app: Sphinx, what: str, name: str, *rest: Any) -> None:
    """Constants and aliases are re-exported, and autodoc looks for their docstrings where they are not."""
    text = said_of_names().get(name.rpartition(".")[2])
    if what == "data" and text is not None:
        rest[-1][:] = [*text.splitlines(), ""]


def lead_to_public(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, contents: TextElement
) -> Element | None:
    """A reference to a private place, resolved at the public one."""
    target: str = node.get("reftarget", "")
    public = public_names().get(target) or public_names().get(re.sub(r".*\.", "", target))
    if node.get("refdomain") != "py" or public is None:
        return None
    domain = env.domains.python_domain
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", public, node, contents)


def name_public_bases(*heard: Any) -> None:
    """A base that is private is nobody's affair; what it brings along is shown with its heirs."""
    bases: list[type] = heard[-1]
    bases[:] = [base for base in bases if not base.__module__.startswith("mcp_sansio") or public(base)]
    bases += [] if bases else [object]


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", tell_of_names)
    app.connect("autodoc-process-bases", name_public_bases)
    app.connect("missing-reference", lead_to_public)
    return {"parallel_read_safe": True}
