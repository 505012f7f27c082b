"""Scenarios with a mistake in them: what a shrinker and a renderer have to show something of."""

from __future__ import annotations

from mcp_sansio.simulation._zoo.clients import CLIENT_ZOO

_ZOO = {variant.name: variant for variant in CLIENT_ZOO}

DIRTY = _ZOO["dirty flag cleared on completion"].altered
GAPLESS = _ZOO["no gap recovery"].altered
