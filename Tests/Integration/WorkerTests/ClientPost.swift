import AppStore
import SignedTesting
import StoreSimulator

/// A purchase that a client posts, by default without a token.
struct ClientPost {
    let notification: SimulatedNotification
    let transaction: SimulatedTransaction
    private let signedDate: Timestamp

    init(app: SimulatedApp = SignedScene.app, _ change: (inout NotificationTrigger) -> Void = { _ in }) throws {
        var trigger = SignedScene.trigger(NotificationKind(.subscribed, .initialBuy), app: app)
        change(&trigger)
        notification = try SignedScene.withoutToken(trigger.notification(), unless: trigger.appAccountToken != nil)
        guard let dated = notification.state?.transaction else { throw MissingTransaction() }
        transaction = dated.value
        signedDate = dated.signedDate
    }

    struct MissingTransaction: Error {}

    /// The signed transaction, after an optional change.
    func jws(_ change: SignedScene.Change = { _ in }) throws -> String {
        var payload = transaction.payload(of: notification.app, signedDate: signedDate)
        change(&payload)
        return String(decoding: try SignedScene.signer().sign(payload), as: UTF8.self)
    }

    /// The body of the inbox event.
    func body(
        _ jws: String? = nil,
        user: String? = "anna",
        environment: AppStoreEnvironment = .production,
        bundleIDs: [String]? = nil
    ) throws -> [UInt8] {
        try ClientSubmission(
            signedTransaction: jws ?? self.jws(),
            user: user,
            environment: environment,
            bundleIDs: bundleIDs
        ).body
    }
}

extension WorkerScene {
    /// Puts a client's post into the inbox.
    @discardableResult
    func receive(client body: [UInt8], at instant: Timestamp = SignedScene.now) async throws -> Int64 {
        try await receive(body, source: EventSource.clientTransaction.rawValue, at: instant)
    }
}

extension SignedScene {
    fileprivate static func withoutToken(_ notification: SimulatedNotification, unless isNamed: Bool) -> SimulatedNotification {
        guard !isNamed, case .data(var state) = notification.content else { return notification }
        var copy = notification
        state.transaction?.value.appAccountToken = nil
        state.renewalInfo?.value.appAccountToken = nil
        copy.content = .data(state)
        return copy
    }
}
