import AppStore
import ArgumentParser
import FoundationEssentials
import OpenSSL
import StoreSimulator
import StoreSimulatorServer
import UnixSignals

/// `appstore-inbox demo legacy`: what `deploy/demo --legacy` posts, and the verifyReceipt that its worker asks.
struct DemoLegacy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "legacy",
        abstract: "Writes receipts and notifications V1 of a made-up customer, and answers about the receipts until it is ended.",
        discussion: """
            The receipts are signed by a throw-away authority, which a worker trusts only where APPSTORE_INBOX_EXTRA_ROOTS names its root. \
            Prints one JSON object for each file and, in the end, one with the addresses of the make-believe verifyReceipt, which stays \
            until SIGTERM.
            """
    )

    @Option(help: "The folder for the files, root.pem among them; made when it is missing.") var out: String
    @Option(help: "A file with the app's shared secret in it.") var secretFile: String
    @Option(
        help: "The order that the first account's purchase pays, from appstore.create_order.",
        transform: { text in
            guard let order = UUID(uuidString: text) else { throw ValidationError("'\(text)' is not a UUID") }
            return order
        }
    )
    var order: UUID

    func run() async throws {
        let now = Self.now()
        let folder = URL(filePath: out, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let secret = String(decoding: try Data(contentsOf: URL(filePath: secretFile)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        let authority = try ReceiptAuthority.generate(AuthorityOptions(around: now))
        try Data(authority.root.pem.utf8).write(to: folder.appending(path: "root.pem"))
        let life = try DemoLegacyLife(signer: ReceiptSigner(authority: authority), secret: secret, order: order, now: now)

        for (index, chapter) in life.chapters.enumerated() {
            let file = folder.appending(path: "\(index + 1)-\(chapter.name).\(chapter.receipt == nil ? "json" : "receipt")")
            try Data(chapter.bytes).write(to: file)
            StandardOutput.write(Self.line(["file": .string(file.path), "transactionId": .string(chapter.transactionID)]))
        }
        var store = SimulatedReceiptStore(secrets: [DemoLife.app.bundleID: [secret]])
        for chapter in life.chapters {
            if let receipt = chapter.receipt { store.hold(chapter.answer, for: receipt) }
        }
        try await VerifyReceiptServer.with(store, VerifyReceiptServer.Configuration(now: Self.now)) { server in
            let addresses = SimulatedReceiptHost.allCases.map { host in
                (host.rawValue, server.address(of: host).map(JSONValue.string) ?? .null)
            }
            StandardOutput.write(Self.line(JSONObject(addresses)))
            for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) { return }
        }
    }

    private static func line(_ object: JSONObject) -> String { String(decoding: JSONSerializer.serialize(object), as: UTF8.self) + "\n" }

    private static let now: @Sendable () -> Timestamp = {
        Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
    }
}
