package import AppStore

/// Makes attempts at calls of some kinds.
package protocol CallHandler: Sendable {
    /// Values of the column `kind` of the table `outbox`.
    var kinds: [String] { get }
    /// The most attempts at once, at least 1. Each handler has its own slots, so that a server that hangs does not delay other kinds.
    var slots: Int { get }
    /// The apps and environments whose calls it can make now. Other processes make the other calls.
    var lanes: Set<CallLane> { get }

    /// Makes one attempt; nil when the shutdown comes first.
    ///
    /// - Parameter exchange: ends each request when the time of the attempt is over, and at a shutdown.
    func result(of call: LeasedCall, through exchange: Exchange) async -> CallResult?
}

/// A handler that does nothing but send requests: each attempt is a value.
package protocol PlainCallHandler: CallHandler {
    func attempt(_ call: LeasedCall) -> any CallAttempt
}

extension PlainCallHandler {
    package func result(of call: LeasedCall, through exchange: Exchange) async -> CallResult? {
        await attempt(call).result(through: exchange, timeout: .seconds(3600))
    }
}

/// One attempt at a call, as a value that does no I/O: it gets each answer and returns the next step.
package protocol CallAttempt: Sendable {
    /// - Parameter outcome: of the last request; nil at the beginning.
    mutating func next(after outcome: ExchangeOutcome?) -> CallStep
}

/// The next step of an attempt.
package enum CallStep: Sendable {
    /// Send a request.
    case send(OutboundRequest)
    /// The attempt is over.
    case finish(CallResult)
}

extension CallAttempt {
    /// Makes the attempt; nil when the shutdown comes first.
    package func result(through exchange: Exchange, timeout: Duration) async -> CallResult? {
        var attempt = self
        var outcome: ExchangeOutcome?
        while true {
            switch attempt.next(after: outcome) {
            case .finish(let result):
                return result
            case .send(let request):
                outcome = await exchange.send(request, timeout: timeout)
                if case .failure(.shuttingDown) = outcome { return nil }
            }
        }
    }
}

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

/// An app in an environment, whose calls a process can make or not.
package struct CallLane: Hashable, Comparable, Sendable {
    package let bundleID: String
    package let environment: AppStoreEnvironment

    package init(_ bundleID: String, _ environment: AppStoreEnvironment) {
        self.bundleID = bundleID
        self.environment = environment
    }

    package static func < (left: CallLane, right: CallLane) -> Bool {
        (left.bundleID, left.environment.rawValue) < (right.bundleID, right.environment.rawValue)
    }
}
