import Glibc

/// Looks again and again until there is an answer; the only way in which these tests wait for a row.
///
/// - Parameters:
///   - what: completes the sentence "it did not happen that …".
///   - look: the answer, or nil when it is not there yet.
func eventually<Value: Sendable>(
    _ what: String,
    within duration: Duration = .seconds(20),
    _ look: () async throws -> Value?
) async throws -> Value {
    let deadline = Deadline(within: duration)
    while true {
        if let value = try await look() { return value }
        guard !deadline.hasPassed else { throw NeverHappened(what: what, duration: duration) }
        try await breathe()
    }
}

/// Looks again and again until it is so.
func eventually(_ what: String, within duration: Duration = .seconds(20), _ look: () async throws -> Bool) async throws {
    _ = try await eventually(what, within: duration) { try await look() ? true : nil }
}

/// Lets others work before the next look or attempt.
func breathe() async throws {
    try await blocking { _ = poll(nil, 0, 15) }
}

struct NeverHappened: Error, CustomStringConvertible {
    let what: String
    let duration: Duration

    var description: String { "it did not happen within \(duration) that \(what)" }
}
