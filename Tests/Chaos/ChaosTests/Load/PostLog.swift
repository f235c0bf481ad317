import Synchronization

/// Records what the senders sent and received; the judge reads it.
final class PostLog: Sendable {
    private struct State {
        var records: [BodyDigest: PostRecord] = [:]
        var statuses: [Int: Int] = [:]
        var attempts = 0
        var unanswered = 0
        var retries = 0
        var abandoned = 0
    }

    /// Totals over all posts.
    struct Sums: Sendable {
        var bodies = 0
        var attempts = 0
        /// Answered with 200.
        var accepted = 0
        /// How often each status was answered.
        var statuses: [Int: Int] = [:]
        /// Attempts whose connection broke before the answer.
        var unanswered = 0
        /// Attempts after the first, without an answer or after a 503.
        var retries = 0
        /// Posts given up without an answer.
        var abandoned = 0
    }

    private let state = Mutex(State())

    /// Records that the whole body is about to be sent. From then on it may be in the inbox, even if sending fails.
    func sending(_ digest: BodyDigest, _ record: PostRecord, isRetry: Bool) {
        state.withLock { state in
            state.records[digest, default: record].sent += 1
            state.attempts += 1
            if isRetry { state.retries += 1 }
        }
    }

    func answered(_ digest: BodyDigest, status: Int) {
        state.withLock { state in
            state.statuses[status, default: 0] += 1
            if status == 200 { state.records[digest]?.accepted += 1 } else { state.records[digest]?.refusals.insert(status) }
        }
    }

    func unanswered() { state.withLock { $0.unanswered += 1 } }
    func abandoned() { state.withLock { $0.abandoned += 1 } }

    var records: [BodyDigest: PostRecord] { state.withLock { $0.records } }

    var sums: Sums {
        state.withLock { state in
            Sums(
                bodies: state.records.count,
                attempts: state.attempts,
                accepted: state.statuses[200, default: 0],
                statuses: state.statuses,
                unanswered: state.unanswered,
                retries: state.retries,
                abandoned: state.abandoned
            )
        }
    }
}
