import AppStore
import ArgumentParser
import Commands
import FoundationEssentials
import StoreSimulator
import StrictJSON

/// `appstore-inbox-lab trigger`: posts a simulated notification or receipt to a running ingest.
struct TriggerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trigger",
        abstract: "Posts a simulated notification or receipt to a running ingest, and waits for what becomes of it.",
        discussion: """
            Throw-away authorities sign. A worker trusts them only if its settings name the roots: \
            APPSTORE_INBOX_EXTRA_ROOTS=$(appstore-inbox-lab trigger --root-only), each with :Production behind it for Production.

              appstore-inbox-lab trigger SUBSCRIBED/INITIAL_BUY --app-account-token ORDER --wait
              appstore-inbox-lab trigger DID_RENEW --wait --user anna

            --user takes an existing contract further: the next notification of its app, product and originalTransactionId. A period that has \
            to end for it ends now. --wait, --user and --contract read the database as appstore_worker, by --database-url or \
            APPSTORE_INBOX_DATABASE_URL.

            Exit codes: 0 each post was accepted (with --wait: and merged), 1 one was not, or the event cannot happen to this contract, \
            2 wrong usage, 78 wrong settings.
            """
    )

    @Argument(
        help: """
            TYPE or TYPE/SUBTYPE, such as SUBSCRIBED/INITIAL_BUY or TEST, or a variant of --list, such as SUBSCRIBED/INITIAL_BUY:seats; with --v1 \
            a type of V1, such as DID_RECOVER.
            """
    )
    var kind: String?
    @Option(help: "The folder of the throw-away certificate authorities; created if it is missing.") var ca = ".appstore-inbox/ca"
    @Option(help: "Where to post (default: the address in APPSTORE_INBOX_LISTEN).") var to: String?
    @Option(name: .customLong("repeat"), help: "The number of times to post the same bytes.") var times = 1
    @Option(
        defaultAsFlag: 30,
        parsing: .next,
        help: ArgumentHelp("Wait, SECONDS at most, until the event is settled, and print what became of it.", valueName: "seconds")
    )
    var wait: Int? = nil
    @Option(help: "Take the contract of this user further; with --receipt, the user whose app posts it.") var user: String?
    @Option(help: ArgumentHelp("Take this contract further.", valueName: "original-transaction-id")) var contract: String?
    @Option(help: "Where the database is, in any form that libpq accepts.") var databaseURL: String?
    @Flag(help: "Change the payload after signing.") var forged = false
    @Flag(help: "Post a notification V1, with the secret in --secret-file.") var v1 = false
    @Option(help: "A file that contains the app's shared secret.") var secretFile: String?
    @Flag(help: "Post a receipt (StoreKit 1) with the purchase to POST /v1/receipts at --to, with the key in --key-file.") var receipt =
        false
    @Option(help: "A file that contains a key of the API.") var keyFile: String?
    @Flag(help: "Print one JSON object for each post.") var json = false
    @Flag(name: .customLong("print"), help: "Print the body instead of posting it.") var printsBody = false
    @Flag(help: "Create the authorities if they are missing, print the paths of their root certificates with a comma between, and exit.")
    var rootOnly = false
    @Flag(help: "Print all types, subtypes and their variants, and exit.") var list = false
    @OptionGroup var options: TriggerOptions

    func validate() throws {
        if kind == nil && !rootOnly && !list { throw ValidationError("name a TYPE or TYPE/SUBTYPE, such as SUBSCRIBED/INITIAL_BUY") }
        if !(1...10_000).contains(times) { throw ValidationError("--repeat must be 1 to 10000, not \(times)") }
        if let wait, !(1...86_400).contains(wait) { throw ValidationError("--wait must be 1 to 86400, not \(wait)") }
        if let to, !NotificationPost.isAddress(to) { throw ValidationError("--to must be http://HOST:PORT/PATH, not \"\(to)\"") }
        if [forged, v1, receipt].count(where: { $0 }) > 1 { throw ValidationError("--forged, --v1 and --receipt exclude each other") }
        if v1 && secretFile == nil { throw ValidationError("--v1 requires --secret-file") }
        if receipt && user == nil { throw ValidationError("--receipt requires --user") }
        if receipt && !printsBody && (to == nil || keyFile == nil) {
            throw ValidationError("--receipt requires --to, such as http://127.0.0.1:8081/v1/receipts, and --key-file")
        }
        if takesContract, let option = options.contractOption {
            throw ValidationError("\(option) is that of the existing contract, which --user and --contract name")
        }
    }

    func run() async throws {
        if list { return NotificationTrigger.scenarios.forEach { print([$0.kind, $0.words].compactMap(\.self).joined(separator: "  ")) } }
        let folder = AuthorityFolder(ca)
        guard let kind else {
            _ = try (folder.open(now: options.signedAt), folder.openReceipts(now: options.signedAt))
            return print("\(folder.rootPath),\(folder.receiptRootPath)")
        }
        let isGood =
            if wait != nil || takesContract {
                try await TriggeredInbox.with(databaseURL) { try await run(kind, folder, $0) }
            } else {
                try await run(kind, folder, nil)
            }
        if !isGood { throw ExitCode.failure }
    }

    private var takesContract: Bool { contract != nil || (user != nil && !receipt) }

    private func run(_ kind: String, _ folder: AuthorityFolder, _ inbox: TriggeredInbox?) async throws -> Bool {
        var existing: ExistingContract?
        if takesContract, let inbox {
            let owner = receipt ? nil : user
            existing = try KnownContract.only(try await inbox.contracts(of: owner, named: contract), of: owner)
        }
        let post = try makePost(kind, of: existing, folder)
        if printsBody {
            print(String(decoding: post.body, as: UTF8.self))
            return true
        }
        let reports = try await send(post, inbox)
        return reports.allSatisfy(\.isGood)
    }

    private func makePost(_ kind: String, of contract: ExistingContract?, _ folder: AuthorityFolder) throws -> TriggeredPost {
        let secret = try secretFile.map(Self.firstLine)
        do throws(SimulationError) {
            let shown = v1 ? try NotificationKind(ofV1: NotificationTypeV1(rawValue: kind)) : try NotificationKind(kind)
            let notification = try options.notification(shown, of: contract)
            guard v1 || receipt else {
                let signer = NotificationSigner(authority: try folder.open(now: options.signedAt))
                return try TriggeredPost(kind, notification, signer, isForged: forged)
            }
            let signer = ReceiptSigner(authority: try folder.openReceipts(now: options.signedAt))
            if receipt { return try TriggeredPost(kind, notification, signer, user: user ?? "") }
            return try TriggeredPost(kind, notification, signer, secret: secret ?? "")
        } catch {
            guard error.code == .unknownNotification || error.code == .invalidOption else { throw error }
            throw ValidationError(error.description)
        }
    }

    private func send(_ post: TriggeredPost, _ inbox: TriggeredInbox?) async throws -> [TriggerReport] {
        let latest = try await inbox?.latestEvent() ?? 0
        let authorization = try receipt ? keyFile.map { try "Bearer \(Self.firstLine(of: $0))" } : nil
        let query = receipt ? "?environment=\(post.notification.app.environment.rawValue)" : ""
        var reports = try await NotificationPost.withPost(to: to.map { $0 + query }) { target in
            var sent: [TriggerReport] = []
            for _ in 0..<times {
                let answer = try await target.send(post.body, as: post.kindOfBody, authorization: authorization)
                sent.append(TriggerReport(post: post, status: answer.status))
                if wait == nil { show(sent[sent.count - 1]) }
            }
            return sent
        }
        guard let wait, let inbox else { return reports }
        let deadline = ContinuousClock.now + .seconds(wait)
        var events: ArraySlice<Int64> = []
        if reports.contains(where: \.isGood) { events = try await inbox.events(of: post, after: latest)[...] }
        for index in reports.indices {
            if reports[index].isGood, let event = events.popFirst() {
                reports[index].state = try await inbox.state(of: event, by: deadline)
            }
            show(reports[index])
        }
        return reports
    }

    private func show(_ report: TriggerReport) {
        StandardOutput.write((json ? JSONSerializer.text(report.json) : report.line) + "\n")
    }

    private static func firstLine(of file: String) throws -> String {
        do {
            return String(decoding: try Data(contentsOf: URL(filePath: file)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        } catch {
            throw ValidationError("\(file) cannot be read")
        }
    }
}
