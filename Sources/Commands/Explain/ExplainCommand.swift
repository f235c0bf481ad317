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
