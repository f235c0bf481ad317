import Testing

/// Tests of the built program's processes on a real PostgreSQL. Serialized: each uses all cores.
@Suite(.serialized, .timeLimit(.minutes(2)))
enum EndToEnd {}
