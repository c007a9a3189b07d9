# Search over HTTP in a container: docker build -t maxsieve . && docker run -p 8800:8800 -v $PWD/data:/data maxsieve
# tests/packaging/test_dockerfile.py checks it without Docker.
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /src

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[cli,files,serve]" && rm -r /wheels
RUN useradd --create-home maxsieve && mkdir /data && chown maxsieve /data
USER maxsieve
ENV MAXSIEVE_CACHE=/data/cache
WORKDIR /data
EXPOSE 8800
# Give --api-key, or MAXSIEVE_API_KEY: other machines can reach it.
ENTRYPOINT ["maxsieve"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8800", "docs.ms"]
