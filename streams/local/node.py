"""One node of Apache Kafka: broker and controller in one process (KRaft, static quorum)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from streams.local.ports import answers
from streams.local.process import DirectoryLock, ServerProcess

_START_TIMEOUT = 90.0  # seconds; after a crash it reads its log segments again
_STOP_TIMEOUT = 20.0  # seconds
_FORMAT_TIMEOUT = 60.0  # seconds


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """What runs a node: the Java, its class path and the most heap it may use."""

    java: Path
    classpath: str
    heap: str = "256m"

    def command(self, data_dir: Path, main: str, *arguments: str | Path) -> list[str | Path]:
        """Return the command that runs ``main`` with the flags for a small, quick start."""
        flags = ["-Xms64m", f"-Xmx{self.heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        flags += ["-XX:-UsePerfData", f"-Djava.io.tmpdir={data_dir}", "-Dlog4j2.level=INFO"]
        return [self.java, *flags, "-cp", self.classpath, main, *arguments]


class KafkaNode:
    """Node ``index`` of a cluster. ``data_dir`` keeps its log, its settings file and its output."""

    def __init__(self, index: int, data_dir: Path, *, lock: DirectoryLock) -> None:
        self.index, self.data_dir = index, data_dir
        self.port = 0
        """Of its broker; 0 before the first start."""
        self._command: list[str | Path] = []
        self._lock = lock
        self._process = ServerProcess(f"Kafka node {index}", data_dir / "kafka.log")

    @property
    def pid(self) -> int:
        """The process id. Raises ``StartError`` when it was not started."""
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.running

    def prepare(
        self, runtime: Runtime, *, cluster_id: str, port: int, controllers: Sequence[int]
    ) -> None:
        """Write the settings file and, the first time, format the storage (1.5 s).

        Args:
            runtime: what runs it.
            cluster_id: the same for all nodes.
            port: of its broker.
            controllers: ports of the quorum's controllers, by node.

        Raises:
            StartError: the storage cannot be formatted.
        """
        self.port = port
        settings = self.data_dir / "server.properties"
        self._command = runtime.command(self.data_dir, "kafka.Kafka", settings)
        self.data_dir.mkdir(parents=True, exist_ok=True)
        properties = _properties(self.data_dir, self.index, port, controllers)
        settings.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        if (self.data_dir / "log" / "meta.properties").exists():
            return
        arguments = ("format", "--cluster-id", cluster_id, "--config", settings)
        self._process.start(
            runtime.command(self.data_dir, "kafka.tools.StorageTool", *arguments),
            lock=self._lock.take(),
        )
        self._process.finish(timeout=_FORMAT_TIMEOUT)

    def launch(self) -> None:
        """Start it and do not wait. Raises ``StartError``."""
        self._process.start(self._command, lock=self._lock.take())

    def wait(self) -> None:
        """Return when it serves, as a broker that the cluster's controller has let in.

        Raises:
            StartError: it ended or did not get there in time; with the end of its log.
        """
        self._process.wait_until(self._serves, timeout=_START_TIMEOUT)

    def start(self) -> None:
        """Bring it back after ``stop`` or ``kill``. Raises ``StartError``."""
        self.launch()
        self.wait()

    def terminate(self) -> None:
        """Ask it to stop, and do not wait."""
        self._process.terminate()

    def stop(self) -> None:
        """Stop it; its data stay. Does nothing when it does not run."""
        self._process.stop(timeout=_STOP_TIMEOUT)

    def kill(self) -> None:
        """Kill it as a crash does. Does nothing when it does not run."""
        self._process.kill()

    def _serves(self) -> bool:
        if not answers(self.port):
            return False
        with suppress(KafkaError), _admin(self.port) as admin:
            brokers = admin.describe_cluster()["brokers"]
            return any(b["broker_id"] == self.index and not b["is_fenced"] for b in brokers)
        return False


def _admin(port: int) -> KafkaAdminClient:
    return KafkaAdminClient(
        bootstrap_servers=f"127.0.0.1:{port}", bootstrap_timeout_ms=5_000, request_timeout_ms=5_000
    )


def _properties(
    data_dir: Path, node: int, port: int, controllers: Sequence[int]
) -> Mapping[str, object]:
    replicas = min(3, len(controllers))
    in_sync = min(2, replicas)
    listeners = f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controllers[node]}"
    voters = (f"{index}@127.0.0.1:{voter}" for index, voter in enumerate(controllers))
    return {
        "process.roles": "broker,controller",
        "node.id": node,
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listeners": listeners,
        "log.dirs": data_dir / "log",
        "auto.create.topics.enable": "false",
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "offsets.topic.num.partitions": 4,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.num.partitions": 4,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 1000,
        # A node that comes back after a crash waits until the session of its former life is over.
        "broker.session.timeout.ms": 3000,
        "broker.heartbeat.interval.ms": 500,
        "controller.quorum.fetch.timeout.ms": 1500,
        "controller.quorum.election.timeout.ms": 500,
    }
