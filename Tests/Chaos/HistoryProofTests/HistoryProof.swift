import Testing

/// What is promised of asking Apple, shown with the processes of the built program against a simulated App Store over TLS. Serialized, since
/// each test uses all cores.
@Suite(.serialized, .timeLimit(.minutes(60)))
enum HistoryProof {}
