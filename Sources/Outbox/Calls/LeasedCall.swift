package import AppStore

/// A call that this process may make for as long as its lease runs.
package struct LeasedCall: Sendable {
    package let callID: Int64
    /// The number of the lease: once there is a later lease, this one can settle nothing.
    package let epoch: Int64
    package let kind: String
    package let bundleID: String
    /// The environment that is asked, or asked first.
    package let environment: AppStoreEnvironment
    /// The column `priority` of the table `outbox`.
    package let priority: Int
    /// The event with the call's data; nil when its body has been deleted, or when the call has no event.
    package let event: Event?
    /// The call's data if it has no event.
    package let payload: [UInt8]?
    /// Earlier attempts that count, all failed.
    package let attempts: Int
    /// Why the last one failed.
    package let lastReason: String?
    /// The number of failures in a row with this reason.
    package let repeats: Int
    /// From the beginning of the lease to the call's deadline; negative when the deadline has passed.
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
        environment: AppStoreEnvironment = .production,
        priority: Int = 1,
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
        self.environment = environment
        self.priority = priority
        self.event = event
        self.payload = payload
        self.attempts = attempts
        self.lastReason = lastReason
        self.repeats = repeats
        self.timeLeft = timeLeft
    }
}

extension LeasedCall.Event: CustomStringConvertible, CustomReflectable {
    /// Shows only the length of the body.
    package var description: String { "\(source), \(body.count) bytes" }
    package var customMirror: Mirror { Mirror(self, children: ["source": source]) }
}

extension LeasedCall: CustomStringConvertible, CustomReflectable {
    /// Shows nothing that is sent.
    package var description: String { "call \(callID) (\(kind)), lease \(epoch)" }
    package var customMirror: Mirror { Mirror(self, children: ["callID": callID, "kind": kind, "epoch": epoch]) }
}
