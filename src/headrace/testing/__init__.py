from headrace.testing.embedded import EmbeddedKafka as EmbeddedKafka
