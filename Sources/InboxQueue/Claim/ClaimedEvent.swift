package import Postgres

/// An event that this transaction holds: no other worker can claim it until the transaction ends.
package struct ClaimedEvent: Sendable {
    package let eventID: Int64
    /// Where it came in, such as `notification_v2`.
    package let source: String
    package let receivedAt: PostgresTimestamp
    /// When this attempt began, by the database's clock.
    package let claimedAt: PostgresTimestamp
    /// Attempts of this run that failed before.
    package let attempts: Int
    /// Exactly as it was received.
    package let body: [UInt8]
    /// 1, and one more after each requeue.
    var run: Int32 = 1

    package init(
        eventID: Int64,
        source: String,
        receivedAt: PostgresTimestamp,
        claimedAt: PostgresTimestamp,
        attempts: Int,
        body: [UInt8]
    ) {
        self.eventID = eventID
        self.source = source
        self.receivedAt = receivedAt
        self.claimedAt = claimedAt
        self.attempts = attempts
        self.body = body
    }

    /// An event whose body has not been read: the queue knows neither its source nor when it was received.
    init(eventID: Int64, claimedAt: PostgresTimestamp, attempts: Int, run: Int32) {
        self.init(eventID: eventID, source: "", receivedAt: claimedAt, claimedAt: claimedAt, attempts: attempts, body: [])
        self.run = run
    }

    /// What has to be known of it once it has been prepared.
    var withoutBody: ClaimedEvent { with(source: source, receivedAt: receivedAt, body: []) }

    /// The same, with that of the inbox.
    func with(source: String, receivedAt: PostgresTimestamp, body: [UInt8]) -> ClaimedEvent {
        var event = ClaimedEvent(
            eventID: eventID,
            source: source,
            receivedAt: receivedAt,
            claimedAt: claimedAt,
            attempts: attempts,
            body: body
        )
        event.run = run
        return event
    }

    /// How long ago it had been received when it was claimed, both by the database's clock.
    var age: Duration {
        .microseconds(max(0, claimedAt.microsecondsSince2000 - receivedAt.microsecondsSince2000))
    }
}
