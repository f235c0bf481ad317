import Testing

/// Tests of the built program's processes on a real PostgreSQL: what happens to notifications. Serialized, since each uses all cores.
@Suite(.serialized, .timeLimit(.minutes(2)))
enum EndToEnd {}

/// What operators, developers and the shop's backend meet: commands, settings, metrics and the API. Runs beside ``EndToEnd``.
@Suite(.serialized, .timeLimit(.minutes(2)))
enum EndToEndInterfaces {}
