# The service without the stand-ins. Build: docker build -t racing-bot .

# The digest of the multi-platform index. For a newer digest: docker buildx imagetools inspect python:3.11-slim-trixie
ARG BASE=docker.io/library/python:3.11.16-slim-trixie@sha256:9534e5a8e315485d4061ed659af0fd78a284c015f9b73661b41d6bab25604534

FROM ${BASE} AS tools
ENV UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_NO_CACHE=1 \
    UV_PYTHON_DOWNLOADS=never
# uv comes from PyPI and not from uv's own image: the build needs one registry less.
COPY deploy/image-tools.txt ./
RUN python -m venv /tools && /tools/bin/pip install --no-cache-dir --quiet --require-hashes -r image-tools.txt
ENV PATH=/tools/bin:$PATH
WORKDIR /app

# The dependencies change seldom, and are a layer of their own. uv compares each file with the hash in uv.lock.
FROM tools AS dependencies
COPY pyproject.toml uv.lock ./
RUN uv sync --quiet --locked --no-default-groups --no-install-project

# Our code is a second, small layer. /tools has the build backend already: nothing without a hash is fetched.
FROM dependencies AS code
COPY README.md LICENSE manifest.yml ./
COPY bot ./bot
RUN uv build --quiet --wheel --no-build-isolation --python /tools/bin/python --out-dir dist \
    && uv pip install --quiet --python .venv/bin/python --no-deps --target code dist/*.whl \
    && rm code/.lock

FROM ${BASE}
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin bot \
    && install --directory --owner=bot --group=bot --mode=0750 /data
COPY --from=dependencies /app/.venv /app/.venv
COPY --from=code /app/code /app/code
ENV PATH=/app/code/bin:/app/.venv/bin:$PATH \
    PYTHONPATH=/app/code \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOST=0.0.0.0 \
    PORT=3000 \
    LOG_FORMAT=json \
    DATABASE_URL=sqlite:////data/racing-bot.db
WORKDIR /app
USER 10001
VOLUME /data
EXPOSE 3000
# Unhealthy: no delivery can be stored, as where /data can't be written. /readyz answers within two seconds.
# http.client takes no notice of a proxy in the environment, as urllib would.
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s CMD ["python", "-c", "\
import http.client, os, sys; \
asked = http.client.HTTPConnection('127.0.0.1', int(os.environ['PORT'] or 3000), timeout=4); \
asked.request('GET', '/readyz'); \
answer = asked.getresponse(); \
print(answer.status, answer.read().decode()); \
sys.exit(answer.status != 200)"]
# The exec form: SIGTERM arrives at the service, which then finishes what it has begun.
ENTRYPOINT ["racing-bot"]
CMD ["serve"]
# Last, so that another revision makes no layer anew.
ARG VERSION=1.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="racing-bot" \
      org.opencontainers.image.description="Posts horse racing results and abandonments to the Slack channels that asked for them." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
