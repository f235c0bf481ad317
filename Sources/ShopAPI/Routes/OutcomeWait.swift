import HTTPServing
import Postgres

/// Looks again and again whether an event is settled, with growing, jittered pauses in which it holds no connection.
struct OutcomeWait: Sendable {
    private static let shortestPause: Duration = .milliseconds(5)

    let store: ShopStore
    let admission: Admission

    /// The event with its outcome; nil when there is none in time, or when the server shuts down.
    func settled(_ eventID: Int64, within limit: Duration) async -> ClientEvent? {
        let deadline = ContinuousClock.now + limit
        var backoff = Backoff(base: .milliseconds(20), cap: .milliseconds(500))
        var generator = SystemRandomNumberGenerator()
        while !admission.isClosed {
            let rest = ContinuousClock.now.duration(to: deadline)
            guard rest > .zero else { return nil }
            do {
                try await Task.sleep(for: min(rest, Self.shortestPause + backoff.next(using: &generator)))
                if let event = try await store.event(eventID, withSubmission: false), event.outcome != nil { return event }
            } catch {
                // The event is stored: who cannot look now is told where to look later, and not to post it again.
                return nil
            }
        }
        return nil
    }
}
