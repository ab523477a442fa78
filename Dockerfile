# The service without the stand-ins. Build: docker build -t racing-bot .

FROM python:3.11-slim AS builder
ENV UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_NO_CACHE=1 \
    UV_PYTHON_DOWNLOADS=never
# From PyPI and not from uv's own image: one registry less that has to be reachable.
RUN pip install --no-cache-dir --quiet uv
WORKDIR /app
# The dependencies change seldom: a layer of their own.
COPY pyproject.toml uv.lock ./
RUN uv sync --locked --no-default-groups --no-editable --no-install-project
COPY README.md LICENSE manifest.yml ./
COPY bot ./bot
RUN uv sync --locked --no-default-groups --no-editable

FROM python:3.11-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin bot \
    && install --directory --owner=bot --group=bot --mode=0750 /data
COPY --from=builder /app/.venv /app/.venv
ENV PATH=/app/.venv/bin:$PATH \
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
# http.client takes no notice of a proxy in the environment, as urllib would.
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s CMD ["python", "-c", "\
import http.client, os, sys; \
asked = http.client.HTTPConnection('127.0.0.1', int(os.environ['PORT']), timeout=3); \
asked.request('GET', '/healthz'); \
sys.exit(asked.getresponse().status != 200)"]
# The exec form: SIGTERM arrives at the service, which then finishes what it has begun.
ENTRYPOINT ["racing-bot"]
CMD ["serve"]
