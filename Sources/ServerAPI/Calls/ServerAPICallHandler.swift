package import Outbox

/// Makes the calls of one kind that ask the App Store Server API, for the apps that have a key. The class of the requests is the call's
/// priority.
package struct ServerAPICallHandler: CallHandler {
    package let kind: String
    package let slots: Int
    private let client: ServerAPIClient
    private let begin: @Sendable (LeasedCall) -> any ServerAPIAttempt

    /// - Parameters:
    ///   - slots: the most attempts at once, at least 1.
    ///   - attempt: an attempt at a call.
    package init(
        _ kind: String,
        slots: Int = 4,
        client: ServerAPIClient,
        attempt: @escaping @Sendable (LeasedCall) -> any ServerAPIAttempt
    ) {
        self.kind = kind
        self.slots = slots
        self.client = client
        begin = attempt
    }

    /// Those with a key. Calls of a key that is refused are leased and postponed, so that `outbox_status` says why they wait.
    package var lanes: Set<CallLane> { client.lanes }

    package func result(of call: LeasedCall, through exchange: Exchange) async -> CallResult? {
        var attempt = begin(call)
        let urgency = ServerAPIClass(rawValue: call.priority) ?? .import
        var result: ServerAPIResult?
        while true {
            switch attempt.next(after: result) {
            case .finish(let result): return result
            case .ask(let request):
                let latest = await client.send(request, class: urgency, through: exchange)
                if case .shuttingDown = latest { return nil }
                result = latest
            }
        }
    }
}
