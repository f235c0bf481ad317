import ArgumentParser
import Postgres
import SQL
import Schema
import ServerAPI
import StrictJSON

/// `appstore-inbox apple`: asks the App Store Server API.
struct AppleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple",
        abstract: "Asks Apple about a transaction, customer or order, extends subscriptions, and lets Apple send a test.",
        discussion: """
            The command writes a call, which a worker with an In-App Purchase key of the app makes, and waits for the answer. Signed \
            transactions of an answer become events. Needs a role with these privileges, such as appstore_operator; repeating a question that \
            is open joins it. Exit codes: 0 Apple answered, 1 refused by Apple or the database, or given up, 2 wrong usage, 3 no answer \
            within --wait: the call goes on, and "apple call" shows it, 78 wrong settings.
            """,
        subcommands: [
            AppleAsk.self, AppleCall.self, AppleExtend.self, AppleExtendAll.self, AppleExtendStatus.self, AppleSetToken.self,
            AppleFinish.self,
        ]
    )
}

/// Options that the commands for Apple share.
struct AppleOptions: ParsableArguments, JSONOptions {
    /// The exit code while there is no answer.
    private static let stillOpen = ExitCode(3)
    private static let pause = Duration.milliseconds(200)

    @Option(help: ArgumentHelp("How long to wait for the answer, in seconds.", valueName: "SECONDS")) var wait = 30
    @Flag(help: "Print one JSON object, with the members of the HTTP API.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    func validate() throws {
        if !(0...3600).contains(wait) { throw ValidationError("--wait must be from 0 to 3600 seconds, not \(wait)") }
    }

    /// Writes a call with a statement that returns it, waits for the answer, and prints it.
    func run(_ statement: Statement) async throws {
        try await run { connection in try await connection.query(statement)[0].decode(0) }
    }

    /// Waits for the answer to a call and prints it.
    ///
    /// - Throws: an exit code unless Apple answered.
    func run(_ call: (Connection) async throws -> Int64) async throws {
        let reader = try service.reader(database)
        let operating = SchemaExpectation(role: "appstore_operator", function: "ask_apple")
        let report = try await CommandConnection.with(reader, command: "apple", operating) { connection in
            try await settled(try await call(connection), connection)
        }
        print(report.document, report.text(waited: wait))
        if report.isOpen { throw Self.stillOpen }
        if !report.isAnswered { throw ExitCode.failure }
    }

    /// The call when it and its events are settled, or the time is over.
    private func settled(_ call: Int64, _ connection: Connection) async throws -> AppleReport {
        let deadline = ContinuousClock.now + .seconds(wait)
        while true {
            let report = try await AppleReport.read(call, from: connection)
            if report.isSettled || ContinuousClock.now >= deadline { return report }
            try await Task.sleep(for: Self.pause)
        }
    }
}

/// Which app and environment a question is about.
struct ApplePlace: ParsableArguments {
    @Option(help: "The app's bundle id (default: that of the transaction, or the only app).") var app: String?
    @Option(
        help: "Production or Sandbox (default: that of a known transaction, else Production; a question tries Sandbox next).",
        completion: .environments
    )
    var environment: String?

    func validate() throws {
        if let environment { try KnownWords.environments.check(environment) }
    }
}

/// The state of a call to Apple, as commands print it.
private struct AppleReport: Sendable {
    /// There is no such call.
    struct Unknown: Error, CustomStringConvertible {
        let call: Int64
        var description: String { "there is no call \(call); a settled call is kept for 30 days" }
    }

    /// As `appstore.call_document` returns it.
    let document: JSONObject

    static func read(_ call: Int64, from connection: Connection) async throws -> AppleReport {
        let row = try await connection.query(.callDocument(callID: call))[0]
        guard let text: String = try row.decode(0) else { throw Unknown(call: call) }
        return AppleReport(document: try JSONParser().parseObject(Array(text.utf8)))
    }

    var isOpen: Bool { document.word("state") == "open" }
    var isAnswered: Bool { document.word("state") == "answered" }
    /// Whether each of its events has an outcome, too.
    var isSettled: Bool { !isOpen && document.rows("events").allSatisfy { $0.word("result") != nil } }

    /// - Parameter seconds: how long the command has waited.
    func text(waited seconds: Int) -> String {
        let place = [document.word("kind"), document.word("key"), document.word("bundleId")].map { ($0 ?? "-").onOneLineSafely }
        var lines = ["call \(document.word("call") ?? "-")  " + place.joined(separator: "  "), "    \(state(seconds))"]
        if case .object(let answer)? = document["answer"] { lines += answer.text.split(separator: "\n").map { "    \($0)" } }
        let events = document.rows("events").map { event in
            ["    event " + (event.word("event") ?? "-"), event.word("result") ?? "waits"]
                + ["reason", "transactionId", "product"].map { (event.word($0) ?? "-").onOneLineSafely }
        }
        return (lines + Columns.lines(events)).joined(separator: "\n")
    }

    private func state(_ seconds: Int) -> String {
        let reason = document.word("reason").map(Self.words)
        switch document.word("state") {
        case "answered": return "answered"
        case "open": return "no answer within \(seconds) s: \(delay)\n    it goes on until \(document.word("deadlineAt") ?? "-")"
        case let state?: return "\(state): \(reason ?? "")"
        case nil: return ""
        }
    }

    private var delay: String {
        switch document.word("waitsFor") {
        case nil where document.word("attempts") == "0", "no_worker"?:
            "no worker has taken it; one must run that has an In-App Purchase key of the app: appstore-inbox doctor"
        case nil: "a worker asks"
        case "api_key"?, "no_api_key"?: "Apple refuses the key of the worker: appstore-inbox doctor"
        case "rate_limited"?, "budget"?, "budget_unavailable"?:
            "the budget of requests is used up: SELECT * FROM appstore.api_budget_status"
        case let reason?: Self.words(reason)
        }
    }

    /// A reason, with Apple's name of its error.
    private static func words(_ reason: String) -> String {
        guard reason.hasPrefix("apple_"), let code = Int(reason.dropFirst(6)).map(ServerAPIErrorCode.init(rawValue:)) else {
            return reason.onOneLineSafely
        }
        let hint =
            switch code {
            case .transactionIDNotFound, .originalTransactionIDNotFound: ": Apple knows no such transaction there, or not yet"
            case .groupNotFound: ": a group ends with its subscription; \"apple ask groups\" names those of now"
            case .notificationURLNotFound: ": set the URL for notifications in App Store Connect"
            default: ""
            }
        return "\(code.rawValue) \(code.name ?? "an error that Apple does not document")\(hint)"
    }
}
