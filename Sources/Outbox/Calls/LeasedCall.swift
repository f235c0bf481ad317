/// A call that this process may make for as long as its lease runs.
package struct LeasedCall: Sendable {
    package let callID: Int64
    /// Which lease of the call this is: nothing of it is taken once there is a later one.
    package let epoch: Int64
    package let kind: String
    package let bundleID: String
    /// The event that the call is made of; nil when its body is not kept any more, or when there is none.
    package let event: Event?
    /// What the call is made of otherwise.
    package let payload: [UInt8]?
    /// Attempts that failed before.
    package let attempts: Int
    /// Why the last one failed.
    package let lastReason: String?
    /// How often in a row it was that.
    package let repeats: Int
    /// From the beginning of the lease to the call's deadline; negative when that is over.
    package let timeLeft: Duration

    /// An event of the inbox.
    package struct Event: Sendable {
        package let source: String
        package let body: [UInt8]

        package init(source: String, body: [UInt8]) {
            self.source = source
            self.body = body
        }
    }

    package init(
        callID: Int64,
        epoch: Int64,
        kind: String,
        bundleID: String,
        event: Event? = nil,
        payload: [UInt8]? = nil,
        attempts: Int = 0,
        lastReason: String? = nil,
        repeats: Int = 0,
        timeLeft: Duration
    ) {
        self.callID = callID
        self.epoch = epoch
        self.kind = kind
        self.bundleID = bundleID
        self.event = event
        self.payload = payload
        self.attempts = attempts
        self.lastReason = lastReason
        self.repeats = repeats
        self.timeLeft = timeLeft
    }
}

extension LeasedCall.Event: CustomStringConvertible, CustomReflectable {
    /// Of the body, only how long it is.
    package var description: String { "\(source), \(body.count) bytes" }
    package var customMirror: Mirror { Mirror(self, children: ["source": source]) }
}

extension LeasedCall: CustomStringConvertible, CustomReflectable {
    /// Nothing of what is sent.
    package var description: String { "call \(callID) (\(kind)), lease \(epoch)" }
    package var customMirror: Mirror { Mirror(self, children: ["callID": callID, "kind": kind, "epoch": epoch]) }
}
