import AppStore
import ArgumentParser
import FoundationEssentials
import StoreSimulator

/// `appstore-inbox demo notifications`: what `deploy/demo` posts.
struct DemoNotifications: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: "Writes the notifications of a made-up customer's life, each as the body of a POST.",
        discussion: """
            They are signed by a throw-away authority, which a worker trusts only where APPSTORE_INBOX_EXTRA_ROOTS names its root. \
            Prints one JSON object for each file.
            """
    )

    @Option(help: "The folder of the authority; made when it is missing. Its root is root.pem there.") var ca: String
    @Option(help: "The folder for the notifications; made when it is missing.") var out: String
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
            Two orders, of two accounts that use one Apple ID one after the other: writes their notifications too, and a purchase by an \
            offer code with client-transaction.jws, its transaction as the app has it.
            """,
        transform: { text in
            guard let order = UUID(uuidString: text) else { throw ValidationError("'\(text)' is not a UUID") }
            return order
        }
    )
    var accountOrder: [UUID] = []

    func validate() throws {
        guard accountOrder.isEmpty || accountOrder.count == 2 else { throw ValidationError("--account-order comes twice or not at all") }
    }

    func run() throws {
        let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
        let authority = try AuthorityFolder(ca).open(now: now)
        let signer = NotificationSigner(authority: authority)
        func seed() -> UInt64 { .random(in: 0 ... .max) }
        var chapters = try DemoLife.chapters(order: order, signer: signer, seed: seed(), now: now)
        let folder = URL(filePath: out, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        if accountOrder.count == 2 {
            let (first, second) = (accountOrder[0], accountOrder[1])
            chapters += try DemoLife.twoAccounts(first: first, second: second, signer: signer, seed: seed(), now: now)
            let (chapter, transaction) = try DemoLife.offerCode(signer: signer, seed: seed(), now: now)
            chapters.append(chapter)
            try Data(transaction).write(to: folder.appending(path: "client-transaction.jws"))
        }
        for (index, chapter) in chapters.enumerated() {
            let file = folder.appending(path: "\(index + 1)-\(chapter.name).json")
            try Data(chapter.notification.body).write(to: file)
            print(Self.line(chapter, file: file))
        }
    }

    private static func line(_ chapter: DemoLife.Chapter, file: URL) -> String {
        let notification = chapter.notification.notification
        var line = JSONObject()
        line["file"] = .string(file.path)
        line["type"] = .string(NotificationKind(notification.type, notification.subtype).description)
        line["notificationUUID"] = .string(notification.notificationUUID.uuidString.lowercased())
        line["transactionId"] = notification.transactionID.map { .string($0) } ?? .null
        line["originalTransactionId"] = notification.originalTransactionID.map { .string($0) } ?? .null
        return String(decoding: JSONSerializer.serialize(line), as: UTF8.self)
    }
}
