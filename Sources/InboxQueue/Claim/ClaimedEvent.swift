package import Postgres

/// An event that this transaction holds: no other worker can claim it until the transaction ends.
package struct ClaimedEvent: Sendable {
    package let eventID: Int64
    /// Where it came in, such as `notification_v2`; empty until its body has been read.
    package internal(set) var source: String
    package internal(set) var receivedAt: PostgresTimestamp
    /// When this attempt began, by the database's clock.
    package let claimedAt: PostgresTimestamp
    /// Attempts of this run that failed before.
    package let attempts: Int
    /// Exactly as it was received; empty before it has been read, and once it has been prepared.
    package internal(set) var body: [UInt8]
    /// 1, and one more after each requeue.
    let run: Int32
    /// Since when each run has been blocked; nil when the last one was not, and before the event runs by itself.
    var blockedSince: PostgresTimestamp?

    /// An event whose body has not been read.
    init(eventID: Int64, claimedAt: PostgresTimestamp, attempts: Int, run: Int32) {
        self.eventID = eventID
        source = ""
        receivedAt = claimedAt
        self.claimedAt = claimedAt
        self.attempts = attempts
        body = []
        self.run = run
    }

    /// For how long it had been blocked when it was claimed.
    var blockedFor: Duration {
        .microseconds(max(0, claimedAt.microsecondsSince2000 - (blockedSince ?? claimedAt).microsecondsSince2000))
    }

    /// How long ago it had been received when it was claimed, both by the database's clock.
    var age: Duration {
        .microseconds(max(0, claimedAt.microsecondsSince2000 - receivedAt.microsecondsSince2000))
    }
}
