import AppStore
import ArgumentParser
import FoundationEssentials
import StoreSimulator

/// Options for the content of the notification of `appstore-inbox-lab trigger`.
struct TriggerOptions: ParsableArguments {
    @Option(help: "The app's bundle id (default: com.example.app).") var bundleId: String?
    @Option(help: "The app's Apple id.") var appAppleId: Int64?
    @Option(help: "Production or Sandbox (default: Sandbox).") var environment: String?
    @Option(help: "The product, also that of an upgrade; a monthly subscription unless the type says otherwise.") var productId: String?
    @Option(help: "The contract; a new one by default.") var originalTransactionId: String?
    @Option(help: "The transaction; a new one by default.") var transactionId: String?
    @Option(help: "The order's number, from appstore.create_order.") var appAccountToken: String?
    @Option(help: "In thousandths of the currency's unit.") var price: Int64?
    @Option(help: "The notification's UUID; a new one by default.") var notificationUuid: String?
    @Option(help: "When it is signed, in milliseconds since 1970; now by default.") var signedDate: Int64?
    @Option(help: "The seed of all values that are not given; random by default.") var seed: UInt64?
    @Flag(help: "Allow types that Apple does not document, such as future ones.") var force = false

    func validate() throws {
        if let environment, environment != "Production" && environment != "Sandbox" {
            throw ValidationError("--environment must be Production or Sandbox, not \"\(environment)\"")
        }
        for (option, text) in [("--app-account-token", appAccountToken), ("--notification-uuid", notificationUuid)] {
            if let text, UUID(uuidString: text) == nil { throw ValidationError("\(option) must be a UUID, not \"\(text)\"") }
        }
        if let signedDate, !Timestamp.decodableMilliseconds.contains(signedDate) {
            throw ValidationError("--signed-date must be milliseconds since 1970, not \(signedDate)")
        }
    }

    var signedAt: Timestamp {
        Timestamp(millisecondsSince1970: signedDate ?? Int64(Date().timeIntervalSince1970 * 1000))
    }

    /// The first of the given options that an existing contract determines.
    var contractOption: String? {
        [
            ("--bundle-id", bundleId), ("--environment", environment), ("--original-transaction-id", originalTransactionId),
            ("--transaction-id", transactionId),
        ].first { $0.1 != nil }?.0
    }

    /// A notification of the kind with these options, which takes the contract further if there is one.
    func notification(_ kind: NotificationKind, of contract: ExistingContract?) throws(SimulationError) -> SimulatedNotification {
        let app = SimulatedApp(
            bundleID: contract?.app.bundleID ?? bundleId ?? "com.example.app",
            appAppleID: appAppleId,
            environment: contract?.app.environment ?? environment.map(AppStoreEnvironment.init(rawValue:)) ?? .sandbox
        )
        var trigger = NotificationTrigger(kind, app: app, now: signedAt, seed: seed ?? .random(in: 0 ... .max))
        trigger.contract = contract
        trigger.productID = productId
        trigger.originalTransactionID = originalTransactionId
        trigger.transactionID = transactionId
        trigger.appAccountToken = appAccountToken.flatMap { UUID(uuidString: $0) }
        trigger.price = price
        trigger.allowsUnknownKinds = force
        var notification = try trigger.notification()
        if let uuid = notificationUuid.flatMap({ UUID(uuidString: $0) }) { notification.notificationUUID = uuid }
        return notification
    }
}
