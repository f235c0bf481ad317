import Glibc

/// Looks again and again until there is an answer; the only way in which these tests wait for a row.
///
/// - Parameters:
///   - what: completes the sentence "it did not happen that …".
///   - look: the answer, or nil when it is not there yet.
package func eventually<Value: Sendable>(
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
package func eventually(_ what: String, within duration: Duration = .seconds(20), _ look: () async throws -> Bool) async throws {
    _ = try await eventually(what, within: duration) { try await look() ? true : nil }
}

/// Lets others work before the next look or attempt.
package func breathe() async throws {
    try await blocking { _ = poll(nil, 0, 15) }
}

package struct NeverHappened: Error, CustomStringConvertible {
    package let what: String
    package let duration: Duration

    package var description: String { "it did not happen within \(duration) that \(what)" }
}

/// Lets that much time pass, where the passing of time is the point: the pace of a load, the length of a fault.
package func pause(_ duration: Duration) async throws {
    let (seconds, attoseconds) = duration.components
    let milliseconds = Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    try await blocking { _ = poll(nil, 0, milliseconds) }
}
