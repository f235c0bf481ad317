import ArgumentParser
import Commands
import FoundationEssentials
import StoreSimulator
import StrictJSON

/// `appstore-inbox-lab demo history`: a simulated App Store Server API for `deploy/demo --history`, and what reached the shop before it failed.
struct DemoHistory: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Serves a simulated App Store Server API whose notifications of the last day reached no server of the shop.",
        discussion: """
            Writes the key and certificates of appstore-inbox-lab api into the folder. Prints one JSON object for each notification, with \
            the file of its body where it was delivered, and then what that command prints. It runs until it is ended.
            """
    )

    @Option(help: "The folder of keys and certificates; created if it is missing.", completion: .directory) var folder: String
    @Option(help: "The folder for the notifications that were delivered; created if it is missing.") var out: String
    @Option(
        help: "The orders of Anna, Ben, Clara and Dora, from appstore.create_order; give it four times.",
        transform: { text in
            guard let order = UUID(uuidString: text) else { throw ValidationError("'\(text)' is not a UUID") }
            return order
        }
    )
    var order: [UUID]

    func validate() throws {
        guard order.count == 4 else { throw ValidationError("--order must be given four times") }
    }

    func run() async throws {
        let now = LabServerAPI.now()
        var store = try LabServerAPI(DemoLife.app, folder: folder, seed: 1)
        let life = try DemoHistoryLife(orders: order, now: now)
        let files = URL(filePath: out, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        for step in life.steps {
            let signed = try store.signer.sign(step.notification)
            store.api.push(signed, fate: step.fate, failingWith: .socketIssue)
            let file = files.appending(path: "\(step.name).json")
            let isDelivered = step.fate == .delivered
            if isDelivered { try Data(signed.body).write(to: file) }
            let line: JSONObject = [
                "name": .string(step.name), "file": isDelivered ? .string(file.path) : .null,
                "transactionId": step.notification.transactionID.map { .string($0) } ?? .null,
            ]
            StandardOutput.write(JSONSerializer.text(line) + "\n")
        }
        for customer in life.customers { store.api.hold(customer, at: now) }
        try await store.serve()
    }
}
