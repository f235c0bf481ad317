import AppStoreVerification
import ArgumentParser
import Interpretation
import Postgres
import Revocation
import SQL
import Schema
import StrictJSON

/// `appstore-inbox explain`: what is known of one event, from its bytes to the ledger.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explains one event: payloads, each check, meaning, facts, effects, runs, and the rows of the ledger.",
        discussion: """
            Changes nothing. What it prints is a customer's data. As appstore_operator or appstore_viewer it needs only a database-url, and \
            shows what needs no body, as SELECT jsonb_pretty(appstore.explain(4711)) does. As appstore_worker, which may read bodies, it \
            needs the worker's settings, too. Where the worker is a systemd service:

              sudo systemd-run --pipe --wait --collect -q -p User=appstore-worker \\
                -p EnvironmentFile=/etc/appstore-inbox/appstore-inbox.env \\
                -p LoadCredential=database-url:/etc/appstore-inbox/worker.database-url appstore-inbox explain 4711

            if_run_now, verification, payloads and facts are what this program makes of the body with the settings of now. if_run_now is \
            merge, or the result without one. Each part of verification names the checks that passed, the one that failed, and those \
            that were not reached. A fact is held by its register, superseded there, or not_merged. Members named as tables have their \
            rows. hints say what can be done. Members that have nothing to say are absent.

            Exit codes: 0 explained, 1 there is no such event or the database could not be asked, 2 wrong usage, 78 wrong settings.
            """
    )

    @Argument(help: "The event's id, as in appstore.inbox_status.") var event: Int64
    @Flag(help: "Print one JSON object.") var json = false
    @OptionGroup(title: "The worker's settings") var verification: VerificationOptions
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func run() async throws {
        let reader = try service.reader(verification, database)
        let found = try await CommandConnection.with(reader, command: "explain", .explain) { try await explanation(from: $0, reader) }
        guard let explanation = found else {
            LogOutput.standardError.write("there is no event \(event)\n")
            throw ExitCode.failure
        }
        print(
            json ? JSONSerializer.text(explanation.document).shownSafely : explanation.document.text
        )
    }

    private func explanation(from connection: Connection, _ reader: SettingsReader) async throws -> Explanation? {
        let session = try await connection.query(.explainSession()).first
        guard try session?.decode("reads_bodies") == true else {
            let hints = ExplanationHints(apps: try reader.optional(Settings.apps)?.map(\.bundleID), readsBodies: false)
            return try await Explanation.read(event, from: connection, reader: nil, hints: hints)
        }
        let settings = try VerificationSettings(reader)
        let hints = ExplanationHints(apps: settings.apps.map(\.bundleID), readsBodies: true)
        let events = settings.eventReader.refusing(try await RevocationRegister.revocations(connection))
        return try await Explanation.read(event, from: connection, reader: events, hints: hints)
    }
}

/// What an operator can do about an event.
struct ExplanationHints: Sendable {
    /// The configured apps; nil when the settings do not name them.
    let apps: [String]?
    let readsBodies: Bool

    /// - Parameters:
    ///   - database: the document of `appstore.explain`.
    ///   - body: nil when the body has been deleted, or may not be read.
    func about(_ database: JSONObject, _ body: ExplainedBody?) -> [String] {
        var hints: [String] = []
        if database["bytes"] == nil {
            hints.append("the body has been deleted: what it said is known by its outcome only")
        } else if !readsBodies {
            hints.append(
                "payloads, verification and facts need the body, which only appstore_worker may read: run explain as the worker, see "
                    + "appstore-inbox explain --help"
            )
        }
        let eventID = database.word("event_id") ?? ""
        let latest = database.rows("outcomes").last
        if (body?.refusal?.reason ?? database.word("reason")) == "wrong_bundle", database.word("result") != "discarded",
            let bundleID = body?.labels.bundleID ?? latest?.word("bundle_id"), apps?.contains(bundleID) != true
        {
            let configured = apps.map { "; configured are \($0.joined(separator: ", "))" } ?? ""
            hints.append(
                "the app \(bundleID) is not configured\(configured): if it is yours, add it to APPSTORE_INBOX_APPS, restart the worker, and "
                    + "run SELECT appstore.requeue_event(\(eventID))"
            )
        } else if body?.facts != nil, let result = database.word("result"), !Self.settledWell.contains(result) {
            hints.append("to run it again: SELECT appstore.requeue_event(\(eventID))")
        }
        return hints
    }

    private static let settledWell: Set<String> = ["applied", "superseded", "no_effect", "duplicate"]
}
