"""Clients and servers with one bug each, and the worlds that find them."""
