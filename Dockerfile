# Two images from one build, each with one static binary and nothing else:
#   docker build --target lab -t gpulab .              docker run --rm -it gpulab shell
#   docker build --target plugin -t gpulab-plugin .    the device plugin of a node
FROM rust:1.95.0-alpine3.22 AS build
WORKDIR /src
COPY . .
# On this system the C library is musl, so that binaries are static.
RUN cargo build --release --locked --package gpulab --package gpulab-plugin && mkdir /empty

FROM scratch AS plugin
COPY --from=build /src/target/release/gpulab-plugin /gpulab-plugin
ENTRYPOINT ["/gpulab-plugin"]

FROM scratch AS lab
COPY --from=build /src/target/release/gpulab /gpulab
# The sockets of the lab's device plugins need a place.
COPY --from=build --chown=65532:65532 /empty /tmp
USER 65532:65532
ENTRYPOINT ["/gpulab"]
CMD ["shell"]
