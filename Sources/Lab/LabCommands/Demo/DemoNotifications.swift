import AppStore
import ArgumentParser
import FoundationEssentials
import StoreSimulator
import StrictJSON

/// `appstore-inbox-lab demo notifications`: writes the notifications that `deploy/demo` posts.
struct DemoNotifications: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: "Writes the notifications about a simulated customer, each as the body of a POST.",
        discussion: """
            A throw-away authority signs them. A worker trusts it only if APPSTORE_INBOX_EXTRA_ROOTS names its root. Prints one JSON object for each file.
            """
    )

    @Option(help: "The folder of the authority and its root.pem; created if it is missing.") var ca: String
    @Option(help: "The folder for the notifications; created if it is missing.") var out: String
    @Option(
        help: "The order that the purchase pays, from appstore.create_order.",
        transform: { text in
            guard let order = UUID(uuidString: text) else { throw ValidationError("'\(text)' is not a UUID") }
            return order
        }
    )
    var order: UUID
    @Option(
        help: """
            The orders of two accounts that use one Apple ID in turn; give it twice. Also writes their notifications, and a purchase by \
            offer code with the app's copy of its transaction, client-transaction.jws.
            """,
        transform: { text in
            guard let order = UUID(uuidString: text) else { throw ValidationError("'\(text)' is not a UUID") }
            return order
        }
    )
    var accountOrder: [UUID] = []

    func validate() throws {
        guard accountOrder.isEmpty || accountOrder.count == 2 else { throw ValidationError("--account-order must be given twice or never") }
    }

    func run() throws {
        let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
        let authority = try AuthorityFolder(ca).open(now: now)
        let signer = NotificationSigner(authority: authority)
        func seed() -> UInt64 { .random(in: 0 ... .max) }
        var steps = try DemoLife.steps(order: order, signer: signer, seed: seed(), now: now)
        let folder = URL(filePath: out, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        if accountOrder.count == 2 {
            let (first, second) = (accountOrder[0], accountOrder[1])
            steps += try DemoLife.twoAccounts(first: first, second: second, signer: signer, seed: seed(), now: now)
            let (step, transaction) = try DemoLife.offerCode(signer: signer, seed: seed(), now: now)
            steps.append(step)
            try Data(transaction).write(to: folder.appending(path: "client-transaction.jws"))
        }
        for (index, step) in steps.enumerated() {
            let file = folder.appending(path: "\(index + 1)-\(step.name).json")
            try Data(step.notification.body).write(to: file)
            print(Self.line(step, file: file))
        }
    }

    private static func line(_ step: DemoLife.Step, file: URL) -> String {
        let notification = step.notification.notification
        var line = JSONObject()
        line["file"] = .string(file.path)
        line["type"] = .string(NotificationKind(notification.type, notification.subtype).description)
        line["notificationUUID"] = .string(notification.notificationUUID.uuidString.lowercased())
        line["transactionId"] = notification.transactionID.map { .string($0) } ?? .null
        line["originalTransactionId"] = notification.originalTransactionID.map { .string($0) } ?? .null
        return JSONSerializer.text(line)
    }
}
