import ArgumentParser
import Postgres
import Schema

/// `appstore-inbox reconcile`: what Apple is asked about contracts that look stale.
struct ReconcileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconcile",
        abstract: "Shows what Apple is asked about contracts that look stale, and asks about one.",
        discussion: """
            Workers that have an In-App Purchase key ask by themselves. Showing needs a role that may read, such as appstore_viewer; ask needs \
            appstore_operator. Exit codes: 0 done, 1 refused by the database, or it has no such purchase, 2 wrong usage, 78 wrong settings.
            """,
        subcommands: [ReconcileStatus.self, ReconcileAsk.self]
    )
}

/// Options that the commands of the reconciliation share.
struct ReconcileOptions: ParsableArguments, JSONOptions {
    @Flag(help: "Print JSON, one object a line.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    /// The rows of a statement, on a connection of its own.
    func rows(of statement: Statement, _ expectation: SchemaExpectation) async throws -> [Row] {
        try await CommandConnection.with(try service.reader(database), command: "reconcile", expectation) {
            Array(try await $0.query(statement))
        }
    }
}
