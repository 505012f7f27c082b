"""A folder of prompt files, as a catalogue that keeps up with it.

`PromptFolder` reads it (`reader`), one file at a time (`file`); `watch.follow` reads it again whenever
something has changed, and needs the extra `cli`.
"""

from .problem import Problem, Severity
from .reader import PromptFolder, Reading

__all__ = ["Problem", "PromptFolder", "Reading", "Severity"]
