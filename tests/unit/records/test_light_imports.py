import subprocess
import sys

HEAVY = ("lz4", "cramjam", "numpy", "numba", "importlib.metadata", "email")


def test_the_brokers_path_loads_no_codec_and_nothing_heavy() -> None:
    program = (
        "import sys, headrace.records.produced, headrace.records.builder, headrace.records.reader,"
        " headrace.records.control, headrace.records.legacy, headrace.records.deep;"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
