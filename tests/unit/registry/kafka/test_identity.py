"""What registries tell one another in their group."""

import json

from headrace.registry.kafka.identity import (
    DUPLICATE_URLS,
    Identity,
    elect,
    read_assignment,
    read_identity,
    write_identity,
)


def test_an_identity_is_in_confluents_form() -> None:
    data = write_identity(Identity("h", 8081))
    assert json.loads(data) == {
        "version": 1,
        "host": "h",
        "port": 8081,
        "master_eligibility": True,
        "scheme": "http",
        "leader": False,
    }
    assert read_identity(data) == Identity("h", 8081)


def test_an_identity_of_another_make_is_read() -> None:
    data = b'{"host":"h","port":1,"master_eligibility":false,"new":1}'
    assert read_identity(data) == Identity("h", 1, eligible=False)


def test_the_smallest_eligible_address_leads() -> None:
    members = {
        "m1": Identity("b", 1),
        "m2": Identity("a", 1, eligible=False),
        "m3": Identity("c", 1),
    }
    assignment = read_assignment(elect(members, sticky=False))
    assert assignment.leader == Identity("b", 1)
    fields = json.loads(elect(members, sticky=False))
    assert (fields["master"], fields["error"]) == ("m1", 0)


def test_a_leader_stays_one_while_it_is_there() -> None:
    leading = Identity("z", 1, is_leader=True)
    members = {"m1": Identity("a", 1), "m2": leading}
    assert read_assignment(elect(members, sticky=True)).leader == leading
    assert read_assignment(elect(members, sticky=False)).leader == Identity("a", 1)
    # Two that think so cannot both be right: the rule decides.
    both = {"m1": Identity("a", 1, is_leader=True), "m2": leading}
    leader = read_assignment(elect(both, sticky=True)).leader
    assert leader is not None
    assert leader.host == "a"


def test_nobody_leads_where_nobody_may_and_twins_are_told() -> None:
    assert (
        read_assignment(elect({"m": Identity("a", 1, eligible=False)}, sticky=True)).leader is None
    )
    twins = {"m1": Identity("a", 1), "m2": Identity("a", 1)}
    assert read_assignment(elect(twins, sticky=True)).error == DUPLICATE_URLS
