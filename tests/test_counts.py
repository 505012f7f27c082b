"""What a changing list costs, exactly: requests, notifications, bytes and staleness in virtual time."""

from __future__ import annotations

import pytest

from benchmarks.counts import bursty, count, flapping, steady, storm


@pytest.mark.parametrize("legacy", [False, True])
def test_a_change_now_and_then_costs_one_notification_and_one_request(*, legacy: bool) -> None:
    found = count(steady, legacy=legacy)
    assert (found.requests, found.notifications) == (1.0, 1.0)
    assert found.worst == 0.015  # the notification, the request, the reply: three crossings


def test_it_costs_the_same_for_each_of_many_clients() -> None:
    assert count(steady, clients=20) == count(steady)


def test_pages_cost_a_request_each() -> None:
    assert count(steady, page_size=10).requests == 10.0


def test_a_burst_of_twenty_costs_four_notifications_at_most_and_as_many_requests() -> None:
    found = count(bursty)
    assert (found.requests, found.notifications) == (0.16, 0.16)
    assert found.worst <= 0.25


def test_without_coalescing_at_the_server_a_burst_is_told_twenty_times_and_still_fetched_twice() -> None:
    found = count(bursty, server_quiet=0.0)
    assert (found.requests, found.notifications) == (0.1, 1.0)


def test_without_coalescing_at_the_client_a_burst_is_fetched_as_often_as_replies_come() -> None:
    assert count(bursty, client_quiet=0.0).requests == 0.47


@pytest.mark.slow
def test_a_storm_of_ten_thousand_changes_costs_a_hundred_notifications_and_fewer_requests() -> None:
    found = count(storm)
    assert found.notifications == 0.0102
    assert found.requests == 0.0082
    assert found.worst <= 0.18


@pytest.mark.slow
def test_a_storm_without_coalescing_at_the_server_costs_a_walk_a_second() -> None:
    found = count(storm, server_quiet=0.0)
    assert (found.notifications, found.requests) == (1.0, 0.0011)
    assert found.worst <= 1.0 + 0.015  # `max_wait` and one walk


def test_what_flaps_is_told_and_fetched() -> None:
    found = count(flapping)
    assert (found.requests, found.notifications) == (1.0, 1.0)
