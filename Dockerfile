# The image of both the web server and the worker; docker-compose.yml says which command each runs.
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /app

# The lock first: as long as it stays the same, so does this layer.
COPY requirements.lock .
RUN pip install --require-hashes -r requirements.lock

COPY . .
RUN python -m compileall -q annotation config scoring \
    && useradd --system --uid 10001 assay \
    && install -d -o assay /data
USER assay

# Uploads and collected files; a secret key only where SECRET_KEY is not set.
ENV ASSAY_DATA_DIR=/data HOST=0.0.0.0
VOLUME /data
EXPOSE 8000
CMD ["python", "manage.py", "serve", "--web-only"]
