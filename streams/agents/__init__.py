"""The agents, one file each: what they read, what they make durable, what they emit."""
