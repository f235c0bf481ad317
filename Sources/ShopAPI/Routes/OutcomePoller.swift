import HTTPServing
import Interpretation
import Postgres
import StrictJSON

/// Polls for the outcome of an event with growing, jittered pauses. It holds no connection during a pause.
struct OutcomePoller: Sendable {
    private static let shortestPause: Duration = .milliseconds(5)

    let store: ShopStore
    let admission: Admission
    let key: KeyScope

    /// Waits until an event is settled; nil at the deadline, at shutdown or when the database fails.
    func settledEvent(_ eventID: Int64, until deadline: ContinuousClock.Instant) async -> ClientEvent? {
        await first(until: deadline) { () throws(Problem) in
            guard let event = try await store.event(eventID, withSubmission: false, key: key), event.result != nil else { return nil }
            return event
        }
    }

    /// Waits until the verifyReceipt call for a receipt is complete; nil at the deadline, at shutdown or when the database fails.
    func completedCall(_ outline: ReceiptOutline?, until deadline: ContinuousClock.Instant) async -> VerifyReceiptCall? {
        guard let callKey = outline?.callKey else { return .notNeeded }
        return await first(until: deadline) { () throws(Problem) in
            let call = try await store.verifyReceiptCall(callKey, key: key)
            return call.isOpen ? nil : call
        }
    }

    /// Waits until a call to Apple and its events are settled; nil at the deadline, at shutdown or when the database fails.
    func settledCall(_ id: Int64, until deadline: ContinuousClock.Instant) async -> JSONObject? {
        await first(until: deadline) { () throws(Problem) in
            guard let call = try await store.call(id, key: key), call.isSettledCall else { return nil }
            return call
        }
    }

    private func first<Answer>(
        until deadline: ContinuousClock.Instant,
        _ poll: () async throws(Problem) -> Answer?
    ) async -> Answer? {
        var backoff = Backoff(base: .milliseconds(20), cap: .milliseconds(500))
        var generator = SystemRandomNumberGenerator()
        while !admission.isShuttingDown {
            let rest = ContinuousClock.now.duration(to: deadline)
            guard rest > .zero else { return nil }
            do {
                try await Task.sleep(for: min(rest, Self.shortestPause + backoff.next(using: &generator)))
                if let answer = try await poll() { return answer }
            } catch {
                // The event is stored: the answer names its path, so that the client polls it and does not post again.
                return nil
            }
        }
        return nil
    }
}
