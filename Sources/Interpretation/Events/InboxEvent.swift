package import AppStore

/// An event of the inbox, as a reader needs it.
package struct InboxEvent: Sendable {
    package let id: Int64
    package let source: EventSource
    /// Exactly as it was received.
    package let body: [UInt8]
    /// When it came in. Facts may depend on it, since it is the same for every attempt.
    package let receivedAt: Timestamp
    /// The time of this attempt: a signature too far in the future for the last attempt may be acceptable now.
    package let readAt: Timestamp

    package init(id: Int64, source: EventSource, body: [UInt8], receivedAt: Timestamp, readAt: Timestamp) {
        self.id = id
        self.source = source
        self.body = body
        self.receivedAt = receivedAt
        self.readAt = readAt
    }
}
