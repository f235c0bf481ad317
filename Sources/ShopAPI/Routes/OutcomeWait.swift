import Handlers
import HTTPServing
import Postgres

/// Looks again and again whether an event is settled, with growing, jittered pauses in which it holds no connection.
struct OutcomeWait: Sendable {
    private static let shortestPause: Duration = .milliseconds(5)

    let store: ShopStore
    let admission: Admission
    let key: KeyScope

    /// The event with its outcome; nil when there is none in time, or when the server shuts down.
    func settled(_ eventID: Int64, until deadline: ContinuousClock.Instant) async -> ClientEvent? {
        await first(until: deadline) { () throws(Problem) in
            guard let event = try await store.event(eventID, withSubmission: false, key: key), event.result != nil else { return nil }
            return event
        }
    }

    /// What became of the question to Apple about a receipt; nil while that is not known.
    func decided(_ outline: ReceiptOutline?, until deadline: ContinuousClock.Instant) async -> ReceiptQuestion? {
        guard let callKey = outline?.questionKey else { return .notAsked }
        return await first(until: deadline) { () throws(Problem) in
            let question = try await store.question(callKey, key: key)
            return question.isOpen ? nil : question
        }
    }

    private func first<Answer>(
        until deadline: ContinuousClock.Instant,
        _ look: () async throws(Problem) -> Answer?
    ) async -> Answer? {
        var backoff = Backoff(base: .milliseconds(20), cap: .milliseconds(500))
        var generator = SystemRandomNumberGenerator()
        while !admission.isClosed {
            let rest = ContinuousClock.now.duration(to: deadline)
            guard rest > .zero else { return nil }
            do {
                try await Task.sleep(for: min(rest, Self.shortestPause + backoff.next(using: &generator)))
                if let answer = try await look() { return answer }
            } catch {
                // The event is stored: who cannot look now is told where to look later, and not to post it again.
                return nil
            }
        }
        return nil
    }
}
