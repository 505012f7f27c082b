"""The prompts that the official conformance suite asks a server for, by the names that it calls them.

They are an ordinary catalogue. One needs input first, in the way of patterns/mrtr, and one is there to come
and go: `change` adds or removes it, so that there is something to announce.
"""

from __future__ import annotations

from mcp_sansio import (
    AskInput,
    Catalogue,
    EmbeddedResource,
    ImageContent,
    InputRequest,
    Prompt,
    PromptArgument,
    PromptRequested,
    Rendered,
    TextContent,
    TextResource,
)

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A PNG of one pixel."""

COMING_AND_GOING = Prompt("test_dynamic_prompt", description="Is there every other time")


def form(message: str, **properties: str) -> InputRequest:
    """Ask a person to fill in a form: the types of its fields are given by name, and all are required."""
    schema = {
        "type": "object",
        "properties": {name: {"type": type_} for name, type_ in properties.items()},
        "required": [*properties],
    }
    return InputRequest("elicitation/create", {"message": message, "requestedSchema": schema})


def catalogue() -> Catalogue:
    """A new catalogue of these prompts."""
    made = Catalogue()
    with made.batch():
        made.add(Prompt("test_simple_prompt", description="Takes no arguments"), _simple)
        made.add(
            Prompt(
                "test_prompt_with_arguments",
                description="Takes two arguments",
                arguments=(_required("arg1", "The first"), _required("arg2", "The second")),
            ),
            _with_arguments,
            {"arg1": ["test", "testValue1", "paris", "park", "party"]},
        )
        made.add(
            Prompt(
                "test_prompt_with_embedded_resource",
                description="Has a resource in it",
                arguments=(_required("resourceUri", "The URI of the resource"),),
            ),
            _with_resource,
        )
        made.add(Prompt("test_prompt_with_image", description="Has an image in it"), _with_image)
        made.add(Prompt("test_input_required_result_prompt", description="Asks back"), _asking)
    return made


def change(catalogue: Catalogue) -> None:
    """Change the list."""
    if COMING_AND_GOING.name in catalogue.snapshot.entries:
        catalogue.remove(COMING_AND_GOING.name)
    else:
        catalogue.add(COMING_AND_GOING, _simple)


def _required(name: str, description: str) -> PromptArgument:
    return PromptArgument(name, description=description, required=True)


def _simple() -> Rendered:
    return "This is a simple prompt for testing."


def _with_arguments(arg1: str, arg2: str) -> Rendered:
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


def _with_resource(resourceUri: str) -> Rendered:  # noqa: N803  # arguments go by the prompt's own names
    resource = TextResource(resourceUri, "Embedded resource content for testing.", mime_type="text/plain")
    return [EmbeddedResource(resource), "Please process the embedded resource above."]


def _with_image() -> Rendered:
    return [ImageContent(PIXEL, "image/png"), TextContent("Please analyze the image above.")]


def _asking(asked: PromptRequested) -> Rendered:
    answer = asked.responses.get("user_context")
    if answer is None:
        return AskInput({"user_context": form("What context should the prompt use?", context="string")})
    return f"The context is {answer.get('content')}."
