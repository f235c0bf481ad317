import AppStore
import ArgumentParser
import Commands
import FoundationEssentials
import StoreSimulator
import StoreSimulatorServer
import StrictJSON
import UnixSignals

/// `appstore-inbox-lab demo legacy`: writes the files that `deploy/demo --legacy` posts, and serves the verifyReceipt that its worker calls.
struct DemoLegacy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "legacy",
        abstract: "Writes receipts and notifications V1 of a simulated customer, and serves verifyReceipt until it is terminated.",
        discussion: """
            A throw-away authority signs the receipts. A worker trusts it only if APPSTORE_INBOX_EXTRA_ROOTS names its root. Prints one \
            JSON object for each file, and then one with the addresses of the simulated verifyReceipt, which runs until SIGTERM.
            """
    )

    @Option(help: "The folder of the authority and its receipt-root.pem; created if it is missing.") var ca: String
    @Option(help: "The folder for the files; created if it is missing.") var out: String
    @Option(help: "A file that contains the app's shared secret.") var secretFile: String
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
        let authority = try AuthorityFolder(ca).openReceipts(now: now)
        let life = try DemoLegacyLife(signer: ReceiptSigner(authority: authority), secret: secret, order: order, now: now)

        for (index, step) in life.steps.enumerated() {
            let file = folder.appending(path: "\(index + 1)-\(step.name).\(step.receipt == nil ? "json" : "receipt")")
            try Data(step.bytes).write(to: file)
            StandardOutput.write(Self.line(["file": .string(file.path), "transactionId": .string(step.transactionID)]))
        }
        var store = SimulatedReceiptStore(secrets: [DemoLife.app.bundleID: [secret]])
        for step in life.steps {
            if let receipt = step.receipt { store.hold(step.answer, for: receipt) }
        }
        try await VerifyReceiptServer.with(store, VerifyReceiptServer.Configuration(now: Self.now)) { server in
            let addresses = SimulatedReceiptHost.allCases.map { host in
                (host.rawValue, server.address(of: host).map(JSONValue.string) ?? .null)
            }
            StandardOutput.write(Self.line(JSONObject(addresses)))
            for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) { return }
        }
    }

    private static func line(_ object: JSONObject) -> String { JSONSerializer.text(object) + "\n" }

    private static let now: @Sendable () -> Timestamp = {
        Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
    }
}
