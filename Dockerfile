# The workers. Two images:
#   docker build -t seedmem:0.1.0 .                            roles serve and extract, no torch
#   docker build -t seedmem-retrain:0.1.0 --target retrain .   role retrain, torch for CPUs
ARG PYTHON=3.12-slim-bookworm

FROM python:${PYTHON} AS build
# hnswlib has no wheel. Portable, or it would run only on processors like the one that built it.
ENV HNSWLIB_NO_NATIVE=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore
# Debian keeps one version of a package: a pinned one would be gone with the next update.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY requirements requirements
# Only when a lock file changes are the packages installed again.
RUN pip install --no-cache-dir --require-hashes --requirement requirements/uv.txt \
    && uv venv /opt/seedmem \
    && uv pip install --python /opt/seedmem/bin/python --no-cache --require-hashes \
        --build-constraint requirements/build.txt --requirement requirements/image.txt
COPY pyproject.toml README.md LICENSE ./
COPY seedmem seedmem
COPY streams streams
RUN uv pip install --python /opt/seedmem/bin/python --no-cache --no-deps --compile-bytecode \
    --build-constraint requirements/build.txt .

FROM build AS build-retrain
# The version is the locked one; the lock has the hashes of the build for GPUs, 4 GB larger.
RUN uv pip install --python /opt/seedmem/bin/python --no-cache --torch-backend cpu \
    --constraint requirements/test.txt torch

FROM python:${PYTHON} AS run
RUN groupadd --gid 10001 seedmem \
    && useradd --uid 10001 --gid seedmem --no-create-home --home-dir /tmp seedmem
ENV PATH=/opt/seedmem/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    ORT_DISABLE_TELEMETRY=1
USER 10001:10001
WORKDIR /tmp
EXPOSE 8080
ENTRYPOINT ["seedmem"]
CMD ["worker"]

FROM run AS retrain
COPY --from=build-retrain /opt/seedmem /opt/seedmem

FROM run AS serve
COPY --from=build /opt/seedmem /opt/seedmem
