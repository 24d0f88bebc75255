"""streams: the service around seedmem. Kafka in and out, Redis below, Faust agents between."""
