import ArgumentParser
import Commands
import FoundationEssentials
import StoreSimulator
import StrictJSON

/// `appstore-inbox-lab trigger`: posts a simulated notification to a running ingest.
struct TriggerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trigger",
        abstract: "Posts a simulated notification to a running ingest.",
        discussion: """
            A throw-away authority signs it. A worker trusts it only if its settings name the root: \
            APPSTORE_INBOX_EXTRA_ROOTS=$(appstore-inbox-lab trigger --root-only). Prints one JSON object for each post. \
            Exit codes: 0 each was answered with 200, 1 one was not, 2 wrong usage.
            """
    )

    @Argument(help: "TYPE or TYPE/SUBTYPE, such as SUBSCRIBED/INITIAL_BUY or TEST.") var kind: String?
    @Option(help: "The folder of the throw-away certificate authority; created if it is missing.") var ca = ".appstore-inbox/ca"
    @Option(help: "Where to post (default: the address in APPSTORE_INBOX_LISTEN).") var to: String?
    @Option(name: .customLong("repeat"), help: "The number of times to post the same bytes.") var times = 1
    @Flag(help: "Change the payload after signing.") var forged = false
    @Flag(name: .customLong("print"), help: "Print the body instead of posting it.") var printsBody = false
    @Flag(help: "Create the authority if it is missing, print the path of its root certificate, and exit.") var rootOnly = false
    @OptionGroup var options: TriggerOptions

    func validate() throws {
        if kind == nil && !rootOnly { throw ValidationError("name a TYPE or TYPE/SUBTYPE, such as SUBSCRIBED/INITIAL_BUY") }
        if !(1...10_000).contains(times) { throw ValidationError("--repeat must be 1 to 10000, not \(times)") }
        if let to, !NotificationPost.isAddress(to) { throw ValidationError("--to must be http://HOST:PORT/PATH, not \"\(to)\"") }
    }

    func run() async throws {
        let folder = AuthorityFolder(ca)
        let authority = try folder.open(now: options.signedAt)
        guard let kind else { return print(folder.rootPath) }
        let signed: SignedNotification
        do throws(SimulationError) {
            let notification = try options.notification(try NotificationKind(kind))
            let signer = NotificationSigner(authority: authority)
            signed = forged ? try signer.forge(notification, .payloadAltered) : try signer.sign(notification)
        } catch {
            guard error.code == .unknownNotification || error.code == .invalidOption else { throw error }
            throw ValidationError(error.description)
        }
        if printsBody { return print(String(decoding: signed.body, as: UTF8.self)) }
        let allTaken = try await NotificationPost.withPost(to: to) { post in
            var allTaken = true
            for _ in 0..<times {
                let status = try await post.send(signed.body).status
                allTaken = allTaken && status == 200
                print(String(decoding: JSONSerializer.serialize(Self.line(status, signed.notification)), as: UTF8.self))
            }
            return allTaken
        }
        if !allTaken { throw ExitCode.failure }
    }

    private static func line(_ status: Int, _ notification: SimulatedNotification) -> JSONObject {
        [
            "status": .number(JSONNumber(Int64(status))),
            "notificationUUID": .string(notification.notificationUUID.uuidString.lowercased()),
            "transactionId": notification.transactionID.map(JSONValue.string) ?? .null,
            "originalTransactionId": notification.originalTransactionID.map(JSONValue.string) ?? .null,
        ]
    }
}
