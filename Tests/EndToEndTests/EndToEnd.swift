import Testing

/// Tests of the built program, with its processes, on a real PostgreSQL. One at a time: each keeps the machine's cores busy.
@Suite(.serialized, .timeLimit(.minutes(2)))
enum EndToEnd {}
