import Glibc

/// Polls until `probe` returns a value; the only way in which these tests wait for a row.
///
/// - Parameters:
///   - what: completes the sentence "it did not happen that …".
///   - log: what the failure shows.
///   - probe: the value, or nil when it is not there yet.
package func eventually<Value: Sendable>(
    _ what: String,
    within duration: Duration = .seconds(20),
    log: CapturedLog? = nil,
    _ probe: () async throws -> Value?
) async throws -> Value {
    let deadline = Deadline(within: duration)
    while true {
        if let value = try await probe() { return value }
        guard !deadline.hasPassed else { throw ConditionTimeout(what: what, duration: duration, log: log?.text) }
        try await pauseBriefly()
    }
}

/// Polls until `probe` returns true.
package func eventually(
    _ what: String,
    within duration: Duration = .seconds(20),
    log: CapturedLog? = nil,
    _ probe: () async throws -> Bool
) async throws {
    _ = try await eventually(what, within: duration, log: log) { try await probe() ? true : nil }
}

/// Pauses before the next probe or attempt.
package func pauseBriefly() async throws {
    try await blocking { _ = poll(nil, 0, 15) }
}

package struct ConditionTimeout: Error, CustomStringConvertible {
    package let what: String
    package let duration: Duration
    package let log: String?

    package var description: String { "it did not happen within \(duration) that \(what)" + (log.map { "; log:\n\($0)" } ?? "") }
}

/// Sleeps where the time itself matters: the pace of a load, the length of a fault.
package func pause(_ duration: Duration) async throws {
    let (seconds, attoseconds) = duration.components
    let milliseconds = Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    try await blocking { _ = poll(nil, 0, milliseconds) }
}
