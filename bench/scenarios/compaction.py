"""Produce latency while a gigabyte is being compacted, against the same broker when idle.

The records to compact are loaded into a topic with cleanup.policy=delete. When the steady producer
has warmed up, the policy becomes `compact`; the latencies are those until the cleaner's checkpoint
says that the partition is clean.
"""

import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka.admin import ConfigResource, ResourceType
from confluent_kafka.cimpl import ConfigEntry  # noqa: F401

from bench.brokers import Brokers, settle
from bench.paced_producer import Pace, PacedProducer
from bench.peer import Peer
from bench.rows import Side
from bench.scenarios.scenario import SIDE_NAMES, Outcome, medians, say
from tests.support.tools import REPOSITORY

GIGABYTES = 8.0
