"""The floor of the end to end latency: what a broker that costs next to nothing would reach."""
