"""Clients and servers over HTTP/1.1, and what goes wrong with exchanges."""
